// defineResource and defineResourceCollection: what an author declares, checked when a file loads.
//
// Must not: know how a resource behaves. The engine does; see engine/src/resource.rs.

import { currentToken, native } from '../base/host';
import { reactionsOf, type Reaction } from './reactions';
import { checkResourceProjection } from './projections';
import { checkField, fieldsOf, isSchema, type AnySchema } from '../base/schema';
import { toJson } from '../base/values';

type Config = Record<string, unknown>;

/** What `defineResource` and `defineResourceCollection` give. */
export class Definition {
  readonly scope: string;

  constructor(
    readonly kind: 'resource' | 'resource-collection',
    readonly config: Config,
  ) {
    Object.assign(this, config);
    this.scope = config.scope === 'org' ? 'project' : (config.scope as string);
  }
}

export type Definitions = Record<string, Definition>;

/** What runs when a resource changes; checked when it was defined. */
export function reactionsTo({ kind, config }: Definition): Reaction[] {
  return reactionsOf(config.reactTo, kind !== 'resource', kind);
}

/** A definition under the name it is reached by; `nested` where its place names the scope. */
export interface Declared {
  accessor: string;
  definition: Definition;
  nested: boolean;
}

const SCOPES = ['session', 'user', 'project', 'org'];
const SOURCES = ['content', 'contentFile', 'contentTemplate', 'contentTemplateRef'];

function checkCommon(config: Config, where: string): void {
  if (!SCOPES.includes(config.scope as string)) {
    throw new Error(`${where}: scope must be one of ${SCOPES.join(', ')}, got ${JSON.stringify(config.scope)}`);
  }
  if (config.flowIsolation === true && config.scope === 'session') {
    throw new Error(`${where}: flowIsolation has no meaning in a session, which belongs to one flow`);
  }
  if (config.stateSchema !== undefined && !isSchema(config.stateSchema)) {
    throw new Error(`${where}: stateSchema must be a zod schema`);
  }
  const sources = SOURCES.filter((source) => config[source] !== undefined);
  if (sources.length > 1) throw new Error(`${where}: more than one content source: ${sources.join(', ')}`);
  const [source] = sources;
  if (source === 'contentFile' || source === 'contentTemplateRef') {
    const instead = source === 'contentFile' ? 'content' : 'contentTemplate';
    throw new Error(
      `${where}: ${source} cannot be read, a flow has no file system; import the text and give it as ${instead}`,
    );
  }
  if (source && typeof config[source] !== 'string') throw new Error(`${where}: ${source} must be a text`);
  if (config.prefetchMode !== undefined && config.prefetchMode !== 'eager' && config.prefetchMode !== 'lazy') {
    throw new Error(`${where}: prefetchMode must be "eager" or "lazy"`);
  }
  checkResourceProjection(config, where);
}

function checkSingle(config: Config, where: string): void {
  checkCommon(config, where);
  if (config.ref !== undefined && (typeof config.ref !== 'string' || config.ref === '')) {
    throw new Error(`${where}: ref must be a text`);
  }
  if (config.render !== undefined) {
    if (typeof config.render !== 'function') throw new Error(`${where}: render must be a function`);
    if (config.contentTemplate !== undefined)
      throw new Error(`${where}: render and contentTemplate cannot both be given`);
  }
  const { default: start, stateSchema } = config;
  if (start === undefined) return;
  if (typeof start !== 'object' || start === null || Array.isArray(start)) {
    throw new Error(`${where}: default must be an object`);
  }
  toJson(start, `${where}: default`);
  for (const [field, value] of Object.entries(start)) {
    const [issue] = (stateSchema ? checkField(stateSchema as AnySchema, field, value).issues : undefined) ?? [];
    if (issue) throw new Error(`${where}: default at "${issue.path}": ${issue.message}`);
  }
}

function checkCollection(config: Config, where: string): void {
  checkCommon(config, where);
  if (typeof config.pattern !== 'string') throw new Error(`${where}: pattern must be a text, like "files/*"`);
  try {
    native.sync('pattern', currentToken(), config.pattern);
  } catch (error) {
    throw new Error(`${where}: ${(error as Error).message}`);
  }
  const { maxInstances, eviction = 'none', prefetchWindow = 0 } = config;
  if (maxInstances !== undefined && (!Number.isInteger(maxInstances) || (maxInstances as number) < 1)) {
    throw new Error(`${where}: maxInstances must be an integer of at least 1`);
  }
  if (!['none', 'lru', 'oldest'].includes(eviction as string)) {
    throw new Error(`${where}: eviction must be "none", "lru" or "oldest"`);
  }
  if (eviction !== 'none' && maxInstances === undefined) {
    throw new Error(`${where}: eviction "${eviction as string}" needs maxInstances`);
  }
  if (eviction !== 'none' && config.prefetchMode === 'lazy') {
    throw new Error(`${where}: a lazy collection cannot evict`);
  }
  if (!Number.isInteger(prefetchWindow) || (prefetchWindow as number) < 0) {
    throw new Error(`${where}: prefetchWindow must be an integer of at least 0`);
  }
  for (const hook of ['onInstanceCreated', 'onInstanceUpdated', 'onInstanceDeleted']) {
    if (config[hook] !== undefined && typeof config[hook] !== 'function') {
      throw new Error(`${where}: ${hook} must be a function`);
    }
  }
}

function define(kind: Definition['kind'], config: unknown, where: string): Definition {
  if (typeof config !== 'object' || config === null) throw new Error(`${where} needs a configuration object`);
  (kind === 'resource' ? checkSingle : checkCollection)(config as Config, where);
  reactionsOf((config as Config).reactTo, kind !== 'resource', where);
  const made = new Definition(kind, { ...(config as Config) });
  sites.set(made, new Error().stack ?? '');
  return made;
}

/** The stacks of the calls that made definitions. */
const sites = new WeakMap<Definition, string>();

export function siteOfDefinition(definition: Definition): string {
  return sites.get(definition) ?? '';
}

export function defineResource(config: unknown): Definition {
  return define('resource', config, 'defineResource');
}

export function defineResourceCollection(config: unknown): Definition {
  return define('resource-collection', config, 'defineResourceCollection');
}

export { defineResourceCollection as defineResourceNamespace };

/** Definitions made of plain configurations, which are one definition wherever they are listed. */
const plain = new Map<string, WeakMap<object, Definition>>();

function definitionOf(value: unknown, scope: string | undefined, where: string): Definition {
  if (value instanceof Definition) {
    if (scope === undefined || value.scope === scope) return value;
    throw new Error(`${where} stands among the ${scope}'s resources, but its scope is ${value.scope}`);
  }
  if (typeof value !== 'object' || value === null) {
    throw new Error(`${where} must come from defineResource or defineResourceCollection`);
  }
  const config = { ...(value as Config), scope: (value as Config).scope ?? scope };
  const known = plain.get(scope ?? '') ?? new WeakMap<object, Definition>();
  plain.set(scope ?? '', known);
  let made = known.get(value);
  if (!made) known.set(value, (made = define('pattern' in config ? 'resource-collection' : 'resource', config, where)));
  return definitionOf(made, scope, where);
}

/** The resources under some keys of a configuration, each with the scope that its place names. */
export function declaredIn(
  config: Config | undefined,
  places: [string, string?][],
  where: string,
): readonly Declared[] {
  const found: Declared[] = [];
  for (const [place, scope] of places) {
    const listed = config?.[place];
    if (listed === undefined) continue;
    if (typeof listed !== 'object' || listed === null || Array.isArray(listed)) {
      throw new Error(`${where}: ${place} must be an object of resources`);
    }
    for (const [accessor, value] of Object.entries(listed)) {
      const definition = definitionOf(value, scope, `${where}: ${place}.${accessor}`);
      found.push({ accessor, definition, nested: scope !== undefined });
    }
  }
  return found;
}

/** What a single resource starts as (SEMANTICS §4.9): the schema's defaults under its own. */
export function initialOf({ config }: Definition): Config {
  const initial: Config = {};
  if (isSchema(config.stateSchema)) {
    const schema = config.stateSchema;
    const whole = [schema.safeParse(undefined), schema.safeParse({})].find(
      ({ data }) => typeof data === 'object' && data !== null,
    );
    Object.assign(initial, whole?.data);
    for (const field of fieldsOf(schema) ?? []) {
      if ('default' in field && !(field.name in initial)) initial[field.name] = field.default;
    }
  }
  return JSON.parse(toJson({ ...initial, ...(config.default as Config | undefined) }, 'default') ?? '{}') as Config;
}
