// What the model calls of a block were made with: what an experiment begins with, and what it is compared with. Pure.
import { isRecord } from '../base/json';
import type { BlockDetail, ModelCallRow } from '../host/host';

export type RecordedCall = {
  model: string | null;
  /** The text of the generator's prompt as it was sent; null if it had none, or if it was not a text. */
  prompt: string | null;
  /** Parameters that a value can be given to, by name. */
  parameters: [name: string, value: unknown][];
};

const NOTHING: RecordedCall = { model: null, prompt: null, parameters: [] };

/** Of several calls the first one: the others answer tools, and have the same prompt. */
export function recordedCall(detail: BlockDetail | null): RecordedCall {
  const call = detail?.modelCalls[0];
  return call ? { model: call.model, prompt: promptOf(call), parameters: parametersOf(call) } : NOTHING;
}

function promptOf({ request, sources }: ModelCallRow): string | null {
  const messages = isRecord(request) && Array.isArray(request.messages) ? request.messages : [];
  const at = sources.findIndex((source) => source?.from === 'system');
  const content: unknown = isRecord(messages[at]) ? messages[at].content : undefined;
  return typeof content === 'string' ? content : null;
}

/** Those of the provider have names of their own: `providerOptions.openai.temperature` is tried as `temperature`. */
function parametersOf({ parameters }: ModelCallRow): [string, unknown][] {
  if (!isRecord(parameters)) return [];
  return Object.entries(parameters).flatMap(([name, value]): [string, unknown][] => {
    // How often the generator had asked before is no parameter.
    if (name === 'step') return [];
    if (name === 'providerOptions') return isRecord(value) ? Object.entries(value).filter(isPlain) : [];
    return isPlain([name, value]) ? [[name, value]] : [];
  });
}

const isPlain = ([, value]: [string, unknown]) => ['number', 'string', 'boolean'].includes(typeof value);
