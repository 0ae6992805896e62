// defineCapability: what several blocks share by listing it in `uses` (SEMANTICS §2.9), and how a list of them is told
// apart: which presets are on, what `.config(…)` makes of it, and what a capability needs itself.
//
// Must not: know what a block does with it. That is for `capabilities.ts`.

import { describeValue, needFunction } from '../base/arguments';
import { caught } from '../base/host';
import { isOpen, isSchema, parse, shapeOf, type AnySchema } from '../base/schema';
import type { Config } from './blocks';
import { nearest, warn } from './known-keys';
import { warnOfOthers } from './nested-keys';
import { declaredIn, RESOURCE_PLACES } from './resources';

/** State that a capability speaks of; the flow merges these with all other declarations. */
export const STATES = [
  'requestStateSchema',
  'sessionStateSchema',
  'userStateSchema',
  'projectStateSchema',
  'orgStateSchema',
];
/** What only a generator can use. */
export const FOR_MODELS = ['context', 'tools', 'controlTools', 'model', 'providerOptions', 'caching'];
export const OWN_STATES = ['stateSchema', 'sequencerStateSchema'];

/** What a capability, a preset of it or its configuration may bring. */
/** The keys of what is joined by name: one name, one definition. */
export const NAMED = [...RESOURCE_PLACES.map(([key]) => key), 'targetStateSchemas'];
const SURFACE = [...STATES, ...FOR_MODELS, ...OWN_STATES, ...NAMED, 'description'];
/** What else a capability may say. Some of it is for types alone. */
const KNOWN = [
  ...SURFACE,
  'name',
  'fns',
  'uses',
  'presets',
  'config',
  'agentType',
  'itemVisibility',
  'sessionStateType',
  'resourcesType',
  'targetStatesType',
  'sequencerStateType',
];

type Presets = Record<string, Config>;
type Override = boolean | ((preset: Config) => Config);
type Resolver = (value: unknown, ctx: { presets: ReadonlySet<string> }) => unknown;

/** What a reference says besides the definition. */
interface Settings {
  overrides?: Record<string, Override>;
  value?: { of: unknown };
}

/** What `defineCapability` gives, and each reference to it that is configured. */
export class Capability {
  readonly kind = 'capability';
  readonly name: string;
  readonly given: Config;
  readonly settings: Settings = {};

  constructor(given: Config) {
    this.name = given.name as string;
    this.given = given;
    for (const key of Object.keys(given)) if (!(key in this)) (this as unknown as Config)[key] = given[key];
  }

  /** A reference with some presets on or off, or changed. */
  presets(overrides: unknown): Capability {
    const where = `Capability "${this.name}".presets`;
    if (typeof overrides !== 'object' || overrides === null || Array.isArray(overrides)) {
      throw new TypeError(`${where} takes an object like { name: false }, got ${describeValue(overrides)}`);
    }
    for (const [name, value] of Object.entries(overrides)) {
      if (value !== undefined && typeof value !== 'boolean' && typeof value !== 'function') {
        throw new TypeError(`${where}: "${name}" is true, false or a function, not ${describeValue(value)}`);
      }
    }
    return this.reference({ ...this.settings, overrides: overrides as Record<string, Override> });
  }

  /** A reference with a value for the capability's `config`. */
  config(value: unknown): Capability {
    return this.reference({ ...this.settings, value: { of: value } });
  }

  /** Presets and configuration in one: names of presets are presets, the rest is configuration. */
  with(bag: unknown): Capability {
    if (typeof bag !== 'object' || bag === null || Array.isArray(bag)) return this.config(bag);
    const presets = Object.keys(presetsOf(this));
    const { schema, has } = configOf(this);
    const shape = schema && !isOpen(schema) ? shapeOf(schema) : undefined;
    const fields = shape && Object.keys(shape);
    const entries = Object.entries(bag);
    const isPreset = ([key]: [string, unknown]) => presets.includes(key);
    const unknown = entries.filter((one) => !isPreset(one) && (!has || (fields && !fields.includes(one[0]))));
    if (unknown.length > 0) {
      const known = fields ? fields.join(', ') : has ? '(open — any key)' : '(none — no config)';
      throw new Error(
        `.with() on capability "${this.name}" received key(s) [${unknown.map(([key]) => key).join(', ')}] that match ` +
          `neither a preset nor a config field. Presets: [${presets.join(', ') || '(none)'}]. Config fields: [${known}].`,
      );
    }
    const [on, rest] = [entries.filter(isPreset), entries.filter((one) => !isPreset(one))];
    const chosen = on.length > 0 ? this.presets(Object.fromEntries(on)) : (this as Capability);
    return rest.length > 0 || (has && entries.length === 0) ? chosen.config(Object.fromEntries(rest)) : chosen;
  }

  private reference(settings: Settings): Capability {
    return Object.create(getBaseCapability(this), { settings: { value: settings } }) as Capability;
  }
}

/** The capability that a configured reference stands for. */
export function getBaseCapability(reference: Capability): Capability {
  return Object.hasOwn(reference, 'given') ? reference : (Object.getPrototypeOf(reference) as Capability);
}

function presetsOf({ given }: Capability): Presets {
  const { default: _default, ...presets } = (given.presets ?? {}) as Presets;
  return presets;
}

function configOf({ given }: Capability): { schema?: AnySchema; resolve?: Resolver; has: boolean } {
  const config = given.config as { schema?: AnySchema; resolve?: Resolver } | undefined;
  return { ...config, has: config !== undefined };
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
  checkSurface(given, where);
  if (given.fns !== undefined && typeof given.fns !== 'function') {
    throw new TypeError(`${where}: fns must be a function (ctx) => ({ … }), got ${describeValue(given.fns)}`);
  }
  usesOf(given, where);
  // Others may read what they keep in a capability, so that only a misspelling is told.
  for (const key of Object.keys(given).filter((one) => !KNOWN.includes(one))) {
    const meant = nearest(key, KNOWN);
    if (meant) warn(`${where}: "${key}" is no setting of a capability and changes nothing; did you mean "${meant}"?`);
  }
  const made = new Capability({ ...given });
  checkPresets(made, where);
  checkConfig(made, where);
  return made;
}

/** What a capability, a preset of it or its configuration brings. */
function checkSurface(given: Config, where: string): void {
  for (const key of [...STATES, ...OWN_STATES]) {
    if (given[key] !== undefined && !isSchema(given[key])) {
      throw new TypeError(`${where}: ${key} must be a zod schema, got ${describeValue(given[key])}`);
    }
  }
  for (const [name, schema] of Object.entries((given.targetStateSchemas ?? {}) as Config)) {
    if (!isSchema(schema)) throw new TypeError(`${where}: targetStateSchemas.${name} must be a zod schema`);
  }
  for (const key of ['tools', 'controlTools']) {
    const list = given[key];
    if (list !== undefined && !Array.isArray(list) && typeof list !== 'function') {
      throw new TypeError(`${where}: ${key} must be an array of blocks, got ${describeValue(list)}`);
    }
  }
  declaredIn(given, RESOURCE_PLACES, where);
}

function checkPresets(capability: Capability, where: string): void {
  const { presets } = capability.given;
  if (presets === undefined) return;
  if (typeof presets !== 'object' || presets === null || Array.isArray(presets)) {
    throw new TypeError(`${where}: presets must be an object of presets, got ${describeValue(presets)}`);
  }
  const all = presetsOf(capability);
  for (const [name, preset] of Object.entries(all)) {
    if (typeof preset !== 'object' || preset === null || Array.isArray(preset)) {
      throw new TypeError(`${where}: preset "${name}" must be an object, got ${describeValue(preset)}`);
    }
    checkSurface(preset, `${where}: preset "${name}"`);
    warnOfOthers(preset, SURFACE, `${where}: preset "${name}"`, 'setting of a preset');
  }
  const listed = (presets as Config).default;
  if (listed === undefined) return;
  if (!Array.isArray(listed))
    throw new TypeError(`${where}: presets.default must be an array of names, got ${describeValue(listed)}`);
  const unknown = (listed as unknown[]).find((name) => typeof name !== 'string' || !(name in all));
  if (unknown !== undefined)
    throw new Error(`Unknown preset ${describeValue(unknown)} on capability "${capability.name}"`);
}

function checkConfig(capability: Capability, where: string): void {
  const { schema, resolve, has } = configOf(capability);
  if (!has) return;
  needFunction(resolve, `${where}: config.resolve`);
  if (schema !== undefined && !isSchema(schema)) {
    throw new TypeError(`${where}: config.schema must be a zod schema, got ${describeValue(schema)}`);
  }
  const shape = schema && shapeOf(schema);
  const both = Object.keys(presetsOf(capability)).filter((name) => shape && name in shape);
  if (both.length > 0) {
    throw new Error(
      `defineCapability("${capability.name}"): preset name(s) [${both.join(', ')}] collide with config field name(s); ` +
        '.with() tells the two apart by their names',
    );
  }
}

/** What is listed in `uses`: capabilities, and functions that choose some while a generator runs. */
export function usesOf(config: Config, where: string, choosers = true): unknown[] {
  if (config.uses === undefined) return [];
  if (!Array.isArray(config.uses)) {
    throw new TypeError(`${where}: uses must be an array of capabilities, got ${describeValue(config.uses)}`);
  }
  (config.uses as unknown[]).forEach((entry, at) => {
    if (entry instanceof Capability || (typeof entry === 'function' && choosers)) return;
    const wanted = choosers ? 'a capability or a function that chooses some' : 'a capability';
    throw new TypeError(`${where}: uses[${at}] must be ${wanted}, got ${describeValue(entry)}`);
  });
  return config.uses as unknown[];
}

/** What one capability brings: itself, a preset of it, or what its configuration makes. */
export interface Part {
  capability: Capability;
  /** What of it: nothing for what it always brings, else `preset "…"` or `config`. */
  of?: string;
  brings: Config;
}

/** Capabilities with all that they use, each once, what is used before what uses it; and the functions that choose. */
export function flattened(entries: readonly unknown[]): { all: Capability[]; choosers: unknown[] } {
  const all: Capability[] = [];
  const choosers: unknown[] = [];
  const around: string[] = [];
  const visit = (reference: Capability): void => {
    const base = getBaseCapability(reference);
    const { name } = base;
    if (around.includes(name)) {
      throw new Error(`Capability cycle detected: "${name}" depends on itself (transitively)`);
    }
    const at = all.findIndex((one) => one.name === name);
    const known = all[at];
    if (known) {
      if (getBaseCapability(known) !== base) {
        throw new Error(
          `Capability name collision: "${name}" is declared by two different defineCapability() calls; ctx.cap has one of that name`,
        );
      }
      all[at] = joined(known, reference);
      return;
    }
    around.push(name);
    // As it is now: what a capability uses may have been set after it was made.
    for (const used of usesOf(base as unknown as Config, `Capability "${name}"`)) {
      if (used instanceof Capability) visit(used);
      else choosers.push(used);
    }
    around.pop();
    all.push(reference);
  };
  for (const entry of entries) {
    if (entry instanceof Capability) visit(entry);
    else choosers.push(entry);
  }
  return { all, choosers };
}

/** Two references to one capability: the first counts, but a value may not be told twice in two ways. */
function joined(known: Capability, reference: Capability): Capability {
  const [one, two] = [known.settings.value, reference.settings.value];
  if (!two) return known;
  if (!one) return known.config(two.of);
  const { schema } = configOf(known);
  // What is left out and what is said with the same default are one value.
  const told = (value: unknown) => {
    const answer = schema ? parse(schema, value) : undefined;
    return JSON.stringify(answer?.ok ? answer.data : value);
  };
  if (one.of !== two.of && told(one.of) !== told(two.of)) {
    throw new Error(
      `Conflicting .config() for capability "${known.name}": it is used twice with different values; configure it once`,
    );
  }
  return known;
}

/** All that a capability brings, as its reference says. */
export function partsOf(capability: Capability): Part[] {
  const active = activePresets(capability);
  const parts: Part[] = [{ capability, brings: capability.given }];
  for (const [name, brings] of active) parts.push({ capability, of: `preset "${name}"`, brings });
  const made = configured(capability, new Set(active.map(([name]) => name)));
  if (made) parts.push({ capability, of: 'config', brings: made });
  return parts;
}

function activePresets(capability: Capability): [string, Config][] {
  const all = presetsOf(capability);
  const { overrides = {} } = capability.settings;
  const unknown = Object.keys(overrides).find((name) => !(name in all));
  if (unknown !== undefined) throw new Error(`Unknown preset "${unknown}" on capability "${capability.name}"`);
  const listed = ((capability.given.presets ?? {}) as { default?: string[] }).default ?? Object.keys(all);
  return Object.entries(all).flatMap(([name, preset]): [string, Config][] => {
    const override = overrides[name];
    if (override === undefined ? !listed.includes(name) : override === false) return [];
    if (typeof override !== 'function') return [[name, preset]];
    const changed = { ...preset, ...override(preset) };
    checkSurface(changed, `Capability "${capability.name}": preset "${name}"`);
    return [[name, changed]];
  });
}

/** What the resolver of a capability makes of its value. */
function configured(capability: Capability, presets: ReadonlySet<string>): Config | undefined {
  const { schema, resolve, has } = configOf(capability);
  const { name, settings } = capability;
  if (!has) {
    if (settings.value) throw new Error(`Capability "${name}" takes no config; it declares none`);
    return undefined;
  }
  let value = settings.value?.of;
  if (schema) {
    const answer = parse(schema, value);
    if (!answer.ok) {
      const [issue] = answer.issues ?? [];
      const what = `${issue?.path ? `"${issue.path}": ` : ''}${issue?.message ?? 'invalid'}`;
      throw new Error(
        settings.value
          ? `Invalid config for capability "${name}": ${what}`
          : `Capability "${name}" requires configuration: use it as ${name}.config(…) (${what})`,
      );
    }
    value = answer.data;
  } else if (!settings.value) {
    throw new Error(`Capability "${name}" declares schemaless config and must be used with .config(…)`);
  }
  let made: unknown;
  try {
    made = (resolve as Resolver)(value, { presets });
  } catch (error) {
    caught(error);
    const said = error instanceof Error ? error.message : String(error);
    throw new Error(`Config resolver for capability "${name}" threw: ${said}`, { cause: error });
  }
  if (made === undefined || made === null) return undefined;
  if (typeof made !== 'object' || typeof (made as { then?: unknown }).then === 'function') {
    throw new TypeError(`Config resolver for capability "${name}" must return an object, got ${describeValue(made)}`);
  }
  checkSurface(made as Config, `Capability "${name}": config`);
  return made as Config;
}
