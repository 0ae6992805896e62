// defineCapability: what several blocks share by listing it in `uses` (SEMANTICS §2.9).
//
// What it adds to a block is settled when the block is built, so that the engine sees one complete
// block. Only the functions it offers, `ctx.cap.<name>`, are looked up while the flow runs.
//
// Must not: run anything but the author's `fns`.

import { describeValue } from '../base/arguments';
import { extend, isSchema, type AnySchema } from '../base/schema';
import { declaredIn } from './resources';

type Config = Record<string, unknown>;
type Reference = (ctx: unknown) => unknown;
type Maker = (input: unknown, ctx: unknown) => unknown;

/** State that a capability speaks of; the flow merges these with all other declarations. */
const STATES = ['requestStateSchema', 'sessionStateSchema', 'userStateSchema', 'projectStateSchema', 'orgStateSchema'];
/** What only a generator can use. */
const FOR_MODELS = ['context', 'tools', 'controlTools', 'model', 'providerOptions', 'caching'];
const OWN_STATES = ['stateSchema', 'sequencerStateSchema'];

/** What `defineCapability` gives. */
export class Capability {
  readonly kind = 'capability';
  readonly name: string;

  constructor(readonly config: Config) {
    this.name = config.name as string;
  }
}

/** The capabilities of a running flow, by the numbers the engine knows them by. */
const numbered: Capability[] = [];

export function capabilityId(capability: Capability): number {
  const known = numbered.indexOf(capability);
  return known >= 0 ? known : numbered.push(capability) - 1;
}

export function capabilityAt(id: number): Capability {
  return numbered[id] as Capability;
}

export function defineCapability(config: unknown): Capability {
  if (typeof config !== 'object' || config === null || Array.isArray(config)) {
    throw new TypeError(`defineCapability needs a configuration object with a name, got ${describeValue(config)}`);
  }
  const given = config as Config;
  if (typeof given.name !== 'string' || given.name.trim() === '') {
    throw new TypeError(`defineCapability needs a non-empty "name", got ${describeValue(given.name)}`);
  }
  const where = `Capability "${given.name}"`;
  for (const key of [...STATES, ...OWN_STATES]) {
    if (given[key] !== undefined && !isSchema(given[key])) {
      throw new TypeError(`${where}: ${key} must be a zod schema, got ${describeValue(given[key])}`);
    }
  }
  for (const [name, schema] of Object.entries((given.targetStateSchemas ?? {}) as Config)) {
    if (!isSchema(schema)) throw new TypeError(`${where}: targetStateSchemas.${name} must be a zod schema`);
  }
  if (given.fns !== undefined && typeof given.fns !== 'function') {
    throw new TypeError(`${where}: fns must be a function (ctx) => ({ … }), got ${describeValue(given.fns)}`);
  }
  for (const key of ['tools', 'controlTools']) {
    const list = given[key];
    if (list !== undefined && !Array.isArray(list) && typeof list !== 'function') {
      throw new TypeError(`${where}: ${key} must be an array of blocks, got ${describeValue(list)}`);
    }
  }
  declaredIn(given, [['resources']], where);
  return new Capability({ ...given });
}

/** The capabilities a block always has. */
export function capabilitiesOf(config: Config): Capability[] {
  return listOf(config).filter((entry) => entry instanceof Capability);
}

/** The functions that choose more of them while a generator runs. */
function choosersOf(config: Config): Reference[] {
  return listOf(config).filter((entry) => typeof entry === 'function') as Reference[];
}

function listOf(config: Config): unknown[] {
  return Array.isArray(config.uses) ? (config.uses as unknown[]) : [];
}

/** A block's configuration with what its capabilities bring, except what `describe` reads from them. */
export function withCapabilities(kind: string, config: Config): Config {
  if (typeof config !== 'object' || config === null || config.uses === undefined) return config;
  const where = `${kind} "${String(config.name)}"`;
  if (!Array.isArray(config.uses)) {
    throw new TypeError(`${where}: uses must be an array of capabilities, got ${describeValue(config.uses)}`);
  }
  config.uses.forEach((entry, at) => {
    if (entry instanceof Capability || (typeof entry === 'function' && kind === 'generator')) return;
    const wanted = kind === 'generator' ? 'a capability or a function that chooses some' : 'a capability';
    throw new TypeError(`${where}: uses[${at}] must be ${wanted}, got ${describeValue(entry)}`);
  });
  const names = new Map<string, Capability>();
  for (const capability of capabilitiesOf(config)) {
    const other = names.get(capability.name);
    if (other && other !== capability)
      throw new Error(`${where}: uses names two capabilities "${capability.name}"; ctx.cap has one of that name`);
    names.set(capability.name, capability);
  }
  const merged: Config = { ...config };
  for (const capability of capabilitiesOf(config)) {
    const given = capability.config;
    refuseOutOfPlace(kind, where, capability);
    joinNamed(merged, 'resources', capability, where);
    joinNamed(merged, 'targetStateSchemas', capability, where);
    for (const key of OWN_STATES) {
      if (given[key])
        merged.stateSchema = joinState(
          merged.stateSchema as AnySchema | undefined,
          given[key] as AnySchema,
          capability,
          where,
        );
    }
    // The block wins, then the capability listed last.
    for (const key of ['model', 'providerOptions', 'caching']) {
      if (config[key] === undefined && given[key] !== undefined) merged[key] = given[key];
    }
  }
  return merged;
}

function refuseOutOfPlace(kind: string, where: string, { name, config }: Capability): void {
  const foreign = kind === 'generator' ? undefined : FOR_MODELS.find((key) => config[key] !== undefined);
  if (foreign) {
    throw new Error(`${where} uses capability "${name}", which brings ${foreign}; only a generator can use that`);
  }
  if (kind !== 'sequencer' && config.sequencerStateSchema !== undefined) {
    throw new Error(
      `${where} uses capability "${name}", which brings sequencerStateSchema; only a sequencer can use that`,
    );
  }
}

/** The same definition twice is one; two under one name are a mistake. */
function joinNamed(merged: Config, key: string, { name: capability, config }: Capability, where: string): void {
  if (config[key] === undefined) return;
  const all: Config = { ...(merged[key] as Config | undefined) };
  for (const [name, given] of Object.entries(config[key] as Config)) {
    if (name in all && all[name] !== given) {
      const what = key === 'resources' ? 'Resource' : 'Target state';
      throw new Error(`${what} conflict: "${name}" of ${where} has another definition in capability "${capability}"`);
    }
    all[name] = given;
  }
  merged[key] = all;
}

function joinState(own: AnySchema | undefined, more: AnySchema, { name }: Capability, where: string): AnySchema {
  const joined = own === undefined ? more : extend(own, more);
  if (typeof joined !== 'string') return joined;
  const reason = joined === '' ? 'one of the two is not a plain z.object' : `both declare "${joined}"`;
  throw new Error(`${where}: its own state and that of capability "${name}" cannot be joined: ${reason}`);
}

/** The state schemas that a capability adds to the scopes, each under its key. */
export function statesOf(capability: Capability): [string, AnySchema][] {
  return STATES.flatMap((key) =>
    isSchema(capability.config[key]) ? [[key, capability.config[key]] as [string, AnySchema]] : [],
  );
}

/** What choosers choose now; they may bring only what a model is told and may call. */
async function chosen(config: Config, ctx: unknown): Promise<Capability[]> {
  const found: Capability[] = [];
  for (const choose of choosersOf(config)) {
    const given = await choose(ctx);
    const where = `generator "${String(config.name)}": uses`;
    if (!Array.isArray(given))
      throw new TypeError(`${where}: a function must return an array of capabilities, got ${describeValue(given)}`);
    for (const entry of given) {
      if (!(entry instanceof Capability)) throw new TypeError(`${where}: ${describeValue(entry)} is not a capability`);
      const { name, context: _context, tools: _tools, controlTools: _control, ...more } = entry.config;
      const foreign = Object.keys(more).find((key) => more[key] !== undefined && key !== 'presets' && key !== 'config');
      if (foreign) {
        throw new Error(
          `${where}: capability "${String(name)}" is chosen while the generator runs, so it can bring context and tools but no ${foreign}`,
        );
      }
      found.push(entry);
    }
  }
  return found;
}

/** The tools that are known before a generator runs: its own, then its capabilities'. */
export function knownTools(config: Config): unknown[] {
  const lists = [config.tools, ...capabilitiesOf(config).flatMap((one) => [one.config.tools, one.config.controlTools])];
  return [...new Set(lists.filter(Array.isArray).flat() as unknown[])];
}

/** The tools that are known only while it runs, as one function of `(input, ctx)`. */
export function laterTools(config: Config): Maker | undefined {
  const makers = (list: unknown[]) => list.filter((one): one is Maker => typeof one === 'function');
  const known = makers([config.tools, ...capabilitiesOf(config).map((one) => one.config.tools)]);
  if (choosersOf(config).length === 0) {
    if (known.length <= 1) return known[0];
  }
  return async (input, ctx) => {
    const found = new Set<unknown>();
    const capabilities = await chosen(config, ctx);
    const given = capabilities.flatMap((one) => [one.config.tools, one.config.controlTools]);
    for (const list of [...known, ...given]) {
      const tools = typeof list === 'function' ? await (list as Maker)(input, ctx) : list;
      for (const tool of Array.isArray(tools) ? (tools as unknown[]) : [tools]) if (tool !== undefined) found.add(tool);
    }
    return [...found];
  };
}

/** The entries of a generator's context: its own, then its capabilities', then those chosen for the step. */
export function contextEntries(
  config: Config,
  resolve: (entry: unknown, input: unknown, ctx: unknown) => unknown,
): unknown[] {
  const listed = [config.context, ...capabilitiesOf(config).map((one) => one.config.context)];
  const entries = listed.filter((entry) => entry !== undefined && entry !== null);
  if (choosersOf(config).length === 0) return entries;
  const later: Maker = async (input, ctx) => {
    const told: unknown[] = [];
    for (const { config: given } of await chosen(config, ctx)) {
      if (given.context !== undefined) told.push(await resolve(given.context, input, ctx));
    }
    return told;
  };
  return [...entries, later];
}

/** `ctx.cap`: the functions of the capabilities around a block, outermost first, each made when first used. */
export function offered(ids: number[], ctx: () => unknown): object {
  const cap = {};
  for (const { name, config } of ids.map(capabilityAt)) {
    if (name in cap || typeof config.fns !== 'function') continue;
    let made: { value: unknown } | undefined;
    const get = () => (made ??= { value: (config.fns as Reference)(ctx()) }).value;
    Object.defineProperty(cap, name, { enumerable: true, get });
  }
  return cap;
}
