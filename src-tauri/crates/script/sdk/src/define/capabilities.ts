// What capabilities add to a block that lists them in `uses` (SEMANTICS §2.9).
//
// It is settled when the block is built, so that the engine sees one complete block. Only the functions they offer,
// `ctx.cap.<name>`, are looked up while the flow runs.
//
// Must not: run anything but the author's `fns` and resolvers.

import { describeValue } from '../base/arguments';
import { extend, isSchema, type AnySchema } from '../base/schema';
import { standsFor } from '../base/sources';
import type { Config } from './blocks';
import {
  Capability,
  flattened,
  FOR_MODELS,
  getBaseCapability,
  NAMED,
  OWN_STATES,
  partsOf,
  STATES,
  usesOf,
} from './capability';
import type { Part } from './capability';

type Reference = (ctx: unknown) => unknown;
type Maker = (input: unknown, ctx: unknown) => unknown;

/** What a list of capabilities comes to. */
interface Used {
  parts: Part[];
  /** The functions that choose more of them while a generator runs. */
  choosers: Reference[];
}

const NOTHING: Used = { parts: [], choosers: [] };
/** By the list, and who speaks: a block is copied with its configuration. */
const known = new WeakMap<object, Used>();

/** The capabilities of a running flow, by the numbers the engine knows them by. */
const numbered: Capability[] = [];

export function capabilityAt(id: number): Capability {
  return numbered[id] as Capability;
}

/** The numbers of the capabilities that offer functions to a block. */
export function capabilityIds(config: Config): number[] {
  const all = new Set(used(config).parts.map((part) => getBaseCapability(part.capability)));
  return [...all].map((capability) => {
    const at = numbered.indexOf(capability);
    return at >= 0 ? at : numbered.push(capability) - 1;
  });
}

function used(config: Config): Used {
  const list = config.uses;
  if (!Array.isArray(list) || list.length === 0) return NOTHING;
  let found = known.get(list);
  if (!found) {
    const { all, choosers } = flattened(list as unknown[]);
    const parts = all.filter((one) => suits(one, config)).flatMap(partsOf);
    found = { parts, choosers: choosers as Reference[] };
    known.set(list, found);
  }
  return found;
}

/** Whether a capability that is meant for some speakers is meant for this block; without a word it is a primary one. */
function suits({ given }: Capability, config: Config): boolean {
  const types = listOf(given.agentType);
  const visible = listOf(given.itemVisibility);
  const { client, history } = (config.itemVisibility ?? PRIMARY) as Config;
  return (
    (types.length === 0 || types.includes(config.agentType ?? 'primary')) &&
    (visible.length === 0 ||
      visible.some((one) => (one as Config).client === client && (one as Config).history === history))
  );
}

const PRIMARY = { client: true, history: true };

function listOf(value: unknown): unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? (value as unknown[]) : [value];
}

/** A block's configuration with what its capabilities bring, except what `describe` reads from them. */
export function withCapabilities(kind: string, config: Config): Config {
  if (typeof config !== 'object' || config === null || config.uses === undefined) return config;
  const where = `${kind} "${String(config.name)}"`;
  usesOf(config, where, kind === 'generator');
  const { parts, choosers } = used(config);
  if (choosers.length > 0 && kind !== 'generator') {
    throw new Error(`${where}: only a generator has capabilities that are chosen while it runs`);
  }
  const merged: Config = { ...config };
  for (const part of parts) {
    refuseOutOfPlace(kind, where, part);
    for (const key of NAMED) joinNamed(merged, key, part, where);
    for (const key of OWN_STATES) {
      if (part.brings[key]) merged.stateSchema = joinState(merged, part.brings[key] as AnySchema, part, where);
    }
    // The block wins, then the capability listed last.
    for (const key of ['model', 'providerOptions', 'caching']) {
      if (config[key] === undefined && part.brings[key] !== undefined) merged[key] = part.brings[key];
    }
  }
  return merged;
}

function nameOf({ capability, of }: Part): string {
  return `capability "${capability.name}"${of ? ` (${of})` : ''}`;
}

function refuseOutOfPlace(kind: string, where: string, part: Part): void {
  const foreign = kind === 'generator' ? undefined : FOR_MODELS.find((key) => part.brings[key] !== undefined);
  const message = (key: string, of: string) =>
    `${where} uses ${nameOf(part)}, which brings ${key}; ${key} is only valid on ${of} blocks`;
  if (foreign) throw new Error(message(foreign, 'generator'));
  if (kind !== 'sequencer' && part.brings.sequencerStateSchema !== undefined) {
    throw new Error(message('sequencerStateSchema', 'sequencer'));
  }
}

/** The same definition twice is one; two under one name are a mistake. */
function joinNamed(merged: Config, key: string, part: Part, where: string): void {
  const { brings } = part;
  if (brings[key] === undefined) return;
  const all: Config = { ...(merged[key] as Config | undefined) };
  for (const [name, given] of Object.entries(brings[key] as Config)) {
    if (name in all && all[name] !== given) {
      const what = key === 'targetStateSchemas' ? 'Target state' : 'Resource';
      throw new Error(`${what} conflict: "${name}" of ${where} has another definition in ${nameOf(part)}`);
    }
    all[name] = given;
  }
  merged[key] = all;
}

function joinState(merged: Config, more: AnySchema, part: Part, where: string): AnySchema {
  const own = merged.stateSchema as AnySchema | undefined;
  const joined = own === undefined ? more : extend(own, more);
  if (typeof joined !== 'string') return joined;
  const reason = joined === '' ? 'one of the two is not a plain z.object' : `both declare "${joined}"`;
  throw new Error(`${where}: its own state and that of ${nameOf(part)} cannot be joined: ${reason}`);
}

/** The state schemas that capabilities add to the scopes, each under its key, with who says so. */
export function statesOf(config: Config): { key: string; schema: AnySchema; by: string }[] {
  return used(config).parts.flatMap((part) =>
    STATES.flatMap((key) => {
      const schema = part.brings[key];
      return isSchema(schema) ? [{ key, schema, by: nameOf(part) }] : [];
    }),
  );
}

/** What choosers choose now; it may bring only what a model is told and may call. */
async function chosen(config: Config, ctx: unknown): Promise<Config[]> {
  const found: Config[] = [];
  for (const choose of used(config).choosers) {
    const given = await choose(ctx);
    const where = `generator "${String(config.name)}": uses`;
    if (!Array.isArray(given))
      throw new TypeError(`${where}: a function must return an array of capabilities, got ${describeValue(given)}`);
    for (const entry of given) {
      if (!(entry instanceof Capability)) throw new TypeError(`${where}: ${describeValue(entry)} is not a capability`);
      if (entry.settings.value !== undefined) {
        throw new Error(
          `${where}: Capability "${entry.name}" was configured with .config() inside a dynamic entry; list it statically`,
        );
      }
    }
    const { all, choosers } = flattened(given as unknown[]);
    if (choosers.length > 0) throw new Error(`${where}: a chosen capability cannot choose others itself`);
    for (const part of all.filter((one) => suits(one, config)).flatMap(partsOf)) {
      const foreign = CHOSEN_TOO_LATE.find((key) => part.brings[key] !== undefined);
      if (foreign !== undefined && !isThere(part.brings[foreign], config, foreign)) {
        throw new Error(
          `${where}: ${nameOf(part)} is chosen while the generator runs, so it can bring context and tools but no ${foreign}`,
        );
      }
      found.push(part.brings);
    }
  }
  return found;
}

/** What has to be known before a block runs. */
const CHOSEN_TOO_LATE = [...STATES, ...OWN_STATES, ...NAMED, 'model', 'providerOptions', 'caching', 'fns'];

/** Whether the block, or a capability that it always has, brings the same. */
function isThere(value: unknown, config: Config, key: string): boolean {
  const same = (other: unknown): boolean => {
    if (other === value) return true;
    if (typeof value !== 'object' || typeof other !== 'object' || value === null || other === null) return false;
    if (!NAMED.includes(key)) return false;
    return Object.entries(value).every(([name, one]) => (other as Config)[name] === one);
  };
  return same(config[key]) || used(config).parts.some((part) => same(part.brings[key]));
}

/** The keys of what capabilities offer a generator to call: only the controls where it lists its tools itself. */
function offeredTools({ tools }: Config): string[] {
  return tools === undefined ? ['tools', 'controlTools'] : ['controlTools'];
}

/** The tools that are known before a generator runs: its own, then its capabilities'. */
export function knownTools(config: Config): unknown[] {
  const keys = offeredTools(config);
  const lists = [config.tools, ...used(config).parts.flatMap(({ brings }) => keys.map((key) => brings[key]))];
  return [...new Set(lists.filter(Array.isArray).flat() as unknown[])];
}

/** The tools that are known only while it runs, as one function of `(input, ctx)`. */
export function laterTools(config: Config): Maker | undefined {
  // A function of a capability gets no input: it is written for any generator.
  const ofCapability = (list: unknown) => {
    if (typeof list !== 'function') return undefined;
    const make = list as (...args: unknown[]) => unknown;
    return (input: unknown, ctx: unknown) => (make.length <= 1 ? make(ctx) : make(input, ctx));
  };
  const keys = offeredTools(config);
  const own = typeof config.tools === 'function' ? [config.tools as Maker] : [];
  const known = [
    ...own,
    ...used(config)
      .parts.flatMap(({ brings }) => keys.map((key) => ofCapability(brings[key])))
      .filter((one) => !!one),
  ];
  const [only] = known;
  if (used(config).choosers.length === 0 && known.length <= 1) return only && onceEach(only);
  return async (input, ctx) => {
    const found = new Set<unknown>();
    const given = (await chosen(config, ctx)).flatMap((brings) => keys.map((key) => brings[key]));
    for (const list of [...known, ...given.map((one) => ofCapability(one) ?? one)]) {
      const tools = typeof list === 'function' ? await (list as Maker)(input, ctx) : list;
      for (const tool of Array.isArray(tools) ? (tools as unknown[]) : [tools]) if (tool !== undefined) found.add(tool);
    }
    return [...found];
  };
}

/** The same tool twice in a list is one. */
function onceEach(make: Maker): Maker {
  const once = (given: unknown): unknown => (Array.isArray(given) ? [...new Set(given as unknown[])] : given);
  const later: Maker = (input, ctx) => {
    const given = make(input, ctx);
    return given instanceof Promise ? given.then(once) : once(given);
  };
  return standsFor(later, make);
}

/** The entries of a generator's context: its own, then its capabilities', then those chosen for the step. */
export function contextEntries(
  config: Config,
  resolve: (entry: unknown, input: unknown, ctx: unknown) => unknown,
): unknown[] {
  const listed = [config.context, ...used(config).parts.map(({ brings }) => brings.context)];
  const entries = listed.filter((entry) => entry !== undefined && entry !== null);
  if (used(config).choosers.length === 0) return entries;
  const later: Maker = async (input, ctx) => {
    const told: unknown[] = [];
    for (const brings of await chosen(config, ctx)) {
      if (brings.context !== undefined) told.push(await resolve(brings.context, input, ctx));
    }
    return told;
  };
  return [...entries, later];
}

/** `ctx.cap`: the functions of the capabilities around a block, outermost first, each made when first used. */
export function offered(ids: number[], ctx: () => unknown): object {
  const cap = {};
  for (const { name, given } of ids.map(capabilityAt)) {
    if (name in cap || typeof given.fns !== 'function') continue;
    let made: { value: unknown } | undefined;
    const get = () => (made ??= { value: (given.fns as Reference)(ctx()) }).value;
    Object.defineProperty(cap, name, { enumerable: true, get });
  }
  return cap;
}
