// Models that are a flow's own code: an object with a `modelId` and a function that answers (SEMANTICS §6.4).
//
// Must not: decide which function is asked, or what its failure means. The engine does.

import { describeValue } from '../base/arguments';
import type { Config } from './blocks';
import { askJson, currentToken, native } from '../base/host';
import { functionId } from './tables';
import { toJson } from '../base/values';

type Answer = (options: unknown, ctx: unknown) => unknown;

/** A piece of a streamed answer: what it says stands in itself, or in a field that is named after its type. */
interface Chunk {
  type?: unknown;
  delta?: unknown;
  textDelta?: unknown;
  reasoningDelta?: unknown;
  toolCallId?: unknown;
  toolName?: unknown;
  args?: unknown;
  toolCallDelta?: { toolCallId?: unknown; toolName?: unknown; args?: unknown; argsDelta?: unknown };
  providerExecuted?: unknown;
  result?: unknown;
  toolResult?: { toolCallId?: unknown; result?: unknown };
  url?: unknown;
  title?: unknown;
  source?: { url?: unknown; title?: unknown };
  usage?: unknown;
  finishReason?: unknown;
  fullResult?: object;
  resolvedIdentity?: unknown;
}

/** A call as it comes; `written` is what came of its arguments' JSON so far. */
interface HeardCall {
  toolCallId: unknown;
  toolName?: unknown;
  args?: unknown;
  written: string;
  providerExecuted?: unknown;
  result?: unknown;
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
    typeof model[name] === 'function'
      ? (options, ctx) => (model[name] as Answer).call(model, withSignal(options, ctx), ctx)
      : undefined;
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

/** The options of a call with the signal of its block, for what the model itself waits for. */
function withSignal(options: unknown, ctx: unknown): Config {
  return { ...(options as Config), signal: (ctx as Config).signal };
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
  const calls: HeardCall[] = [];
  const sources: object[] = [];
  let whole: object = {};
  let resolvedIdentity: unknown;
  for await (const chunk of chunks) {
    const { type } = chunk;
    resolvedIdentity = chunk.resolvedIdentity ?? resolvedIdentity;
    if (type === 'text_delta' || type === 'reasoning_delta') {
      const kind = type === 'text_delta' ? 'text' : 'reasoning';
      const delta = chunk.delta ?? chunk[`${kind}Delta`];
      if (typeof delta !== 'string')
        throw new TypeError(`${where}: a ${type} has a text in \`${kind}Delta\`, got ${describeValue(delta)}`);
      said[kind] += delta;
      native.sync('say', token, JSON.stringify([kind, delta]));
    } else if (type === 'tool_call_delta') {
      hearCall(calls, chunk);
    } else if (type === 'tool_result') {
      // Only whoever ran a tool can tell its result.
      const { toolCallId, result } = chunk.toolResult ?? chunk;
      const call = calls.find((known) => known.toolCallId === toolCallId);
      if (call) Object.assign(call, { providerExecuted: true, result });
    } else if (type === 'source_url') {
      const { url, title } = chunk.source ?? chunk;
      sources.push({ url, title });
    } else if (type === 'finish') {
      const { usage, finishReason } = chunk;
      whole = { ...(usage !== undefined && { usage }), ...(finishReason !== undefined && { finishReason }) };
      Object.assign(whole, chunk.fullResult);
    }
  }
  const told: Config = { sources, resolvedIdentity };
  if (!('toolCalls' in whole)) told.toolCalls = calls.map((call) => callOf(where, call));
  for (const kind of ['text', 'reasoning'] as const) if (said[kind] !== '') told[kind] = said[kind];
  return { ...told, ...whole };
}

/** Arguments come as a whole, or as pieces of their JSON. */
function hearCall(calls: HeardCall[], chunk: Chunk): void {
  const { toolCallId, toolName, args, argsDelta } = chunk.toolCallDelta ?? { ...chunk, argsDelta: undefined };
  if (args === undefined && chunk.toolCallDelta === undefined) return;
  let call = calls.find((known) => known.toolCallId === toolCallId);
  if (!call) calls.push((call = { toolCallId, toolName, written: '' }));
  if (args !== undefined) call.args = args;
  if (chunk.providerExecuted !== undefined) call.providerExecuted = chunk.providerExecuted;
  if (typeof argsDelta === 'string') call.written += argsDelta;
}

function callOf(where: string, { written, ...call }: HeardCall): object {
  if (call.args !== undefined) return call;
  try {
    return { ...call, args: written === '' ? {} : (JSON.parse(written) as unknown) };
  } catch {
    throw new TypeError(
      `${where}: the arguments of the call of ${describeValue(call.toolName)} are no JSON: ${written}`,
    );
  }
}
