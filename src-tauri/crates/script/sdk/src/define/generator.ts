// A generator's settings as plain data (SEMANTICS §6.1). Functions become numbers.
//
// Must not: call a model. Rust asks models and runs tools.

import { describeValue } from '../base/arguments';
import { approved, approvedLater } from './approval';
import { isBlock, needBlock, type Block, type Config } from './blocks';
import { contextEntries, knownTools, laterTools } from './capabilities';
import { isItemQuery } from './nested-keys';
import { modelInstance, NamedModel } from './own-models';
import { promptSlots } from './prompt-files';
import { functionId, retry, text, timeLimit } from './tables';
import type { AnySchema } from '../base/schema';
import { standsFor } from '../base/sources';

export function generatorSettings(config: Config, flowTools: Config, child: (block: Block) => number): Config {
  const entries = contextEntries(config, resolved);
  const file = promptSlots(config, entries, resolved);
  const prompt = file?.prompt ?? [config.prompt].flat();
  const output = config.outputSchema as AnySchema | undefined;
  const kind = output?._def?.typeName ?? output?._zod?.def.type;
  const loop = (config.loop ?? {}) as Config;
  return {
    model: modelOf(config.model),
    prompt: prompt.map(text).filter((part) => part !== undefined),
    context: contextParts(file?.hasContext ? [] : entries),
    ...historyOf(config.history),
    user: spoken(file ? file.user : config.user),
    structured: output !== undefined && kind !== 'ZodString' && kind !== 'string',
    agentType: config.agentType,
    itemVisibility: config.itemVisibility,
    agentName: config.agentName,
    tools: knownTools(config).map((tool, at) =>
      child(approved(needBlock(tool, `generator "${String(config.name)}": tools[${at}]`), config)),
    ),
    toolsCall: functionId(approvedLater(laterTools(config), config, isBlock)),
    describeTools: config.describeTools !== false,
    maxIterations: Number(loop.maxIterations ?? config.maxIterations ?? 8) || 1,
    runTools: loop.runTools !== false,
    stopWhen: functionId(loop.stopWhen),
    maxTokens: typeof config.maxTokens === 'number' ? Math.max(1, Math.floor(config.maxTokens)) : undefined,
    providerOptions: text(config.providerOptions),
    repair: repairOf(config),
    toolSettings: toolSettings(flowTools, (config.flowTools ?? {}) as Config, child),
  };
}

/** A model by its name, names or function, or an author's own. */
function modelOf(model: unknown): Config | undefined {
  const instance = modelInstance(model);
  if (instance) return { instance };
  const named = text(model);
  return named && { named };
}

/** `true` is the whole history, a query a part of it, anything else messages of the author's choice. */
function historyOf(history: unknown): Config {
  if (history === undefined || history === null || history === false) return {};
  if (history === true) return { history: {} };
  return isItemQuery(history) ? { history } : { historySlot: spoken(history) };
}

/** Messages: one, or a list of them and of lists of them, in which a function may say nothing. */
function spoken(said: unknown): Config | undefined {
  if (!Array.isArray(said)) return text(said);
  const each = (all: unknown[]) => all.flat().filter((one) => one !== undefined && one !== null);
  if (!holdsFunction(said)) return text(each(said));
  return text(async (input: unknown, ctx: unknown) => each((await resolved(said, input, ctx)) as unknown[]));
}

/** The entries of `context`, in order; objects stay whole, their functions become one call. */
function contextParts(context: unknown): (Config | undefined)[] {
  if (context === undefined || context === null) return [];
  if (Array.isArray(context)) return context.flatMap(contextParts);
  if (typeof context === 'function') return [text(toTheEnd(context as Maker))];
  if (typeof context !== 'object' || 'content' in context || !holdsFunction(context)) return [text(context)];
  return [text((input: unknown, ctx: unknown) => resolved(context, input, ctx))];
}

type Maker = (input: unknown, ctx: unknown) => unknown;

/** A function whose answer may hold functions, too. */
function toTheEnd(make: Maker): Maker {
  const later = (input: unknown, ctx: unknown) => {
    const finish = (given: unknown) => (holdsFunction(given) ? resolved(given, input, ctx) : given);
    const given = make(input, ctx);
    return given instanceof Promise ? given.then(finish) : finish(given);
  };
  return standsFor(later, make);
}

/** Whether functions stand in a value's own lists and plain objects. What holds itself is refused where it is kept. */
function holdsFunction(value: unknown, around: readonly unknown[] = []): boolean {
  if (typeof value === 'function') return true;
  if (typeof value !== 'object' || value === null || around.includes(value)) return false;
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return false;
  const within = [...around, value];
  return Object.values(value).some((one) => holdsFunction(one, within));
}

async function resolved(value: unknown, input: unknown, ctx: unknown): Promise<unknown> {
  if (typeof value === 'function') {
    const given = await (value as Maker)(input, ctx);
    return holdsFunction(given) ? resolved(given, input, ctx) : given;
  }
  if (Array.isArray(value)) {
    const all: unknown[] = [];
    for (const entry of value) all.push(await resolved(entry, input, ctx));
    return all;
  }
  if (typeof value !== 'object' || value === null) return value;
  const made: Config = {};
  for (const [key, entry] of Object.entries(value)) made[key] = await resolved(entry, input, ctx);
  return made;
}

/** What mends an answer that breaks the schema (SEMANTICS §6.5). */
export function repairOf(config: Config): Config {
  const { mode = 'auto', maxAttempts = 1, coerce = true } = (config.repair ?? {}) as Config;
  if (!['auto', 'fail', 'rescue'].includes(mode as string)) {
    throw new Error(
      `Generator "${String(config.name)}": repair.mode is "auto", "fail" or "rescue", not ${JSON.stringify(mode)}`,
    );
  }
  const model = typeof coerce === 'object' && coerce !== null ? (coerce as Config).model : undefined;
  if (model !== undefined && !isModel(model)) {
    throw new TypeError(
      `Generator "${String(config.name)}": repair.coerce.model must be a model's name, a list of names, a model or a ` +
        `function of (input, ctx) that returns one, got ${describeValue(model)}`,
    );
  }
  return {
    attempts: mode === 'auto' ? Math.min(Math.max(0, Math.floor(Number(maxAttempts) || 0)), 2 ** 32 - 1) : 0,
    coerce: mode === 'auto' && coerce !== false ? modelOf(model ?? 'intent/utility') : undefined,
    call: functionId(config.repairOutput),
  };
}

/** Whether a value can be a generator's model, as far as that is known before it is asked. */
function isModel(value: unknown): boolean {
  if (typeof value === 'function' || value instanceof NamedModel || modelInstance(value)) return true;
  if (Array.isArray(value)) return value.length > 0;
  const name = typeof value === 'object' && value !== null ? (value as Config).model : value;
  return typeof name === 'string' && name.trim() !== '';
}

/** The flow's settings for tools with the generator's own on top (SEMANTICS §6.7). */
function toolSettings(flow: Config, own: Config, child: (block: Block) => number): Config {
  const defaults = { ...(flow.defaults as Config | undefined), ...(own.defaults as Config | undefined) };
  const hook = (name: string) => {
    const given = own[name] ?? flow[name];
    if (isBlock(given)) return { block: child(given) };
    return typeof given === 'function' ? { call: functionId(given) } : undefined;
  };
  return {
    timeoutMs: timeLimit(defaults.timeoutMs),
    serial: defaults.concurrency === 'serial',
    retry: retry(defaults.retry as Config | undefined),
    onStarted: hook('onToolStarted'),
    onCompleted: hook('onToolCompleted'),
    onErrored: hook('onToolErrored'),
  };
}
