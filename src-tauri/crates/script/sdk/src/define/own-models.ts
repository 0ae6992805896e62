// Models that are a flow's own code: an object with a `modelId` and a function that answers (SEMANTICS §6.4).
//
// Must not: decide which function is asked, or what its failure means. The engine does.

import { describeValue } from '../base/arguments';
import type { Config } from './blocks';
import { askJson, currentToken, native } from '../base/host';
import { functionId } from './tables';
import { toJson } from '../base/values';

type Answer = (options: unknown, ctx: unknown) => unknown;

/** A piece of a streamed answer. */
interface Chunk {
  type?: unknown;
  delta?: unknown;
  toolCallId?: unknown;
  toolName?: unknown;
  args?: unknown;
  providerExecuted?: unknown;
  result?: unknown;
  url?: unknown;
  title?: unknown;
  fullResult?: object;
}

const METHODS = ['generate', 'generateStep', 'stream', 'streamStep'];

/** A model, or a list of models to try in order, that the engine resolves by name: what `createModelResolver` gives. */
export class NamedModel {
  constructor(
    readonly modelId: string,
    readonly names: readonly string[],
  ) {}

  /** Asks by the code of a handler; the call is recorded with its block. */
  async generate(options: Config): Promise<unknown> {
    let failure: unknown = new Error(`Model "${this.modelId}" has no names`);
    for (const model of this.names) {
      try {
        const asked = toJson({ ...options, model }, `generate of model "${this.modelId}"`) as string;
        return JSON.parse(await askJson(currentToken(), 'model', asked)) as unknown;
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  toJSON(): readonly string[] {
    return this.names;
  }
}

/** Such a model by the numbers of its functions; nothing where a value is none. */
export function modelInstance(value: unknown): Config | undefined {
  if (typeof value !== 'object' || value === null || value instanceof NamedModel) return undefined;
  const model = value as Config;
  if (typeof model.modelId !== 'string' || !METHODS.some((name) => typeof model[name] === 'function')) return undefined;
  // Called as methods, so that a model may keep what it needs in itself.
  const method = (name: string): Answer | undefined =>
    typeof model[name] === 'function' ? (options, ctx) => (model[name] as Answer).call(model, options, ctx) : undefined;
  const heard = (name: string): Answer | undefined => {
    const stream = method(name);
    return (
      stream && ((options, ctx) => gathered(`${model.modelId as string}.${name}`, currentToken(), stream(options, ctx)))
    );
  };
  return {
    modelId: model.modelId,
    step: functionId(method('generateStep')),
    whole: functionId(method('generate')),
    streamStep: functionId(heard('streamStep')),
    stream: functionId(heard('stream')),
  };
}

/** A streamed answer as one, told to the engine while it comes. What `finish` says of the whole counts. */
async function gathered(where: string, token: number, answer: unknown): Promise<object> {
  const chunks = (await answer) as AsyncIterable<Chunk>;
  if (
    typeof chunks?.[Symbol.asyncIterator] !== 'function' &&
    typeof (chunks as unknown as Iterable<Chunk>)?.[Symbol.iterator] !== 'function'
  ) {
    throw new TypeError(`${where} must give chunks, as an async generator function does, got ${describeValue(chunks)}`);
  }
  const said = { text: '', reasoning: '' };
  const toolCalls: { toolCallId: unknown; [more: string]: unknown }[] = [];
  const sources: object[] = [];
  let whole: object = {};
  for await (const chunk of chunks) {
    const { type, delta, toolCallId, toolName, args, providerExecuted, result, url, title } = chunk;
    if (type === 'text_delta' || type === 'reasoning_delta') {
      if (typeof delta !== 'string')
        throw new TypeError(`${where}: a ${type} has a text in \`delta\`, got ${describeValue(delta)}`);
      const kind = type === 'text_delta' ? 'text' : 'reasoning';
      said[kind] += delta;
      native.sync('say', token, JSON.stringify([kind, delta]));
    } else if (type === 'tool_call_delta' && args !== undefined) {
      toolCalls.push({ toolCallId, toolName, args, providerExecuted });
    } else if (type === 'tool_result') {
      // Only whoever ran a tool can tell its result.
      const call = toolCalls.find((known) => known.toolCallId === toolCallId);
      if (call) Object.assign(call, { providerExecuted: true, result });
    } else if (type === 'source_url') {
      sources.push({ url, title });
    } else if (type === 'finish') {
      whole = chunk.fullResult ?? {};
    }
  }
  const told: Config = { toolCalls, sources };
  for (const kind of ['text', 'reasoning'] as const) if (said[kind] !== '') told[kind] = said[kind];
  return { ...told, ...whole };
}
