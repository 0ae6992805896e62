// The settings of an instance of a flow: `config`, checked by `configSchema`, as `ctx.flow.config`.
//
// Must not: be stored. What a flow makes of its settings is; they themselves are code.

import { describeValue } from '../base/arguments';
import type { Block, Config } from './blocks';
import { runnableOf } from './entries';
import type { Flow } from './flow';
import { isSchema, parse, restOf, shapeOf, typeOf, type AnySchema } from '../base/schema';

interface Facts {
  readonly kind: string;
  readonly id: string;
  readonly config: Readonly<Config>;
}

let facts: Facts = Object.freeze({ kind: '', id: '', config: Object.freeze({}) });

/** What `ctx.flow` shows from now on. `stack` is where the flow or its instance is made: an error points there. */
export function settle(flow: Flow, stack: string): void {
  try {
    facts = Object.freeze({ kind: flow.kind, id: flow.id, config: Object.freeze(configOf(flow)) });
  } catch (error) {
    throw Object.assign(error as Error, { definedAt: stack });
  }
}

export const flowFacts = (): Facts => facts;

export function configOf({ definition, kind, id }: Flow): Config {
  const { config, configSchema, cardinality, isMinted } = definition;
  const where = `Flow "${kind}" instance "${id}"`;
  if (configSchema === undefined) {
    if (config === undefined) return {};
    throw new Error(`${where} has a config, but the flow declares no configSchema: add configSchema: z.object({ … })`);
  }
  // Only its instances have settings.
  if (cardinality === 'collection' && isMinted !== true && config === undefined) return {};
  const fields = shapeOf(configSchema as AnySchema);
  const unknown = Object.keys((config ?? {}) as Config).find((key) => fields && !(key in fields));
  if (unknown !== undefined) {
    throw new Error(`${where} has an invalid config: "${unknown}" is none of ${Object.keys(fields ?? {}).join(', ')}`);
  }
  const parsed = parse(configSchema as AnySchema, config ?? {});
  if (parsed.ok) {
    checkReaders(definition, parsed.data as Config, where);
    return parsed.data as Config;
  }
  const issues = (parsed.issues ?? []).map(({ path, message }) => (path ? `${path}: ${message}` : message));
  throw new Error(`${where} has an invalid config: ${issues.join('; ')}; give it as flow({ config: { … } })`);
}

/** Refuses a `configSchema` that cannot tell which settings there are: those that it does not name are refused. */
export function checkConfigSchema({ kind, configSchema }: Config): void {
  if (configSchema === undefined) return;
  const where = `Flow "${kind as string}"`;
  if (!isSchema(configSchema)) {
    throw new TypeError(`${where}: configSchema must be a zod schema, got ${describeValue(configSchema)}`);
  }
  if (typeOf(configSchema) !== 'object') {
    throw new Error(
      `${where} declares a configSchema that is not an object schema: use z.object({ … }) without .refine or .transform`,
    );
  }
  const rest = restOf(configSchema);
  if (rest !== undefined && rest !== true && typeOf(rest) !== 'unknown') {
    throw new Error(`${where} declares a configSchema with a catchall: name each setting in z.object({ … })`);
  }
}

/** Every block that a flow may run and that reads its settings. */
export function readersOf(definition: Config): Block[] {
  const seen = new Set<Block>();
  const waiting = runnableOf(definition).map(([, action]) => (action.block ?? action.steps) as Block);
  for (let block = waiting.pop(); block; block = waiting.pop()) {
    if (seen.has(block)) continue;
    seen.add(block);
    // One by one: a call takes at most 65,535 arguments, and a chain may have more steps.
    for (const child of block.children) waiting.push(child);
  }
  return [...seen].filter((block) => block.config.flowConfigSchema !== undefined);
}

/** Refuses settings that a block cannot read as its `flowConfigSchema` says, or reads as others than there are. */
function checkReaders(definition: Config, config: Config, where: string): void {
  for (const block of readersOf(definition)) {
    const read = parse(block.config.flowConfigSchema as AnySchema, config);
    if (!read.ok) {
      const issues = (read.issues ?? []).map(({ path, message }) => (path ? `"${path}": ${message}` : message));
      throw new Error(`${where} has a config bag that block "${block.name}" cannot read: ${issues.join('; ')}`);
    }
    const [added] = addedBy(read.data, config, '');
    if (added !== undefined) {
      throw new Error(
        `${where}: block "${block.name}" declares a flowConfigSchema that would change the bag at "${added}": ` +
          "move the default or transform to the flow's configSchema",
      );
    }
  }
}

/** The places at which what a block reads is not what there is. A block may read a part of it. */
function addedBy(read: unknown, held: unknown, at: string): string[] {
  if (Object.is(read, held)) return [];
  if (typeof read !== 'object' || typeof held !== 'object' || read === null || held === null) return [at];
  if (Array.isArray(read) !== Array.isArray(held)) return [at];
  return Object.entries(read).flatMap(([key, value]) => {
    const place = at === '' ? key : `${at}.${key}`;
    return key in held ? addedBy(value, (held as Config)[key], place) : [place];
  });
}
