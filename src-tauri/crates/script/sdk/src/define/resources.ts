// defineResource and defineResourceCollection: what an author declares, checked when a file loads.
//
// Must not: know how a resource behaves. The engine does; see engine/src/resource.rs.

import { needFunction } from '../base/arguments';
import { currentToken, native } from '../base/host';
import { warn, warnOfUnknown } from './known-keys';
import { reactionsOf, type Reaction } from './reactions';
import { checkResourceProjection } from './projections';
import { textSource, type TextSource } from './resource-texts';
import { checkField, fieldsOf, isSchema, type AnySchema } from '../base/schema';
import { toJson } from '../base/values';

type Config = Record<string, unknown>;

/** What `defineResource` and `defineResourceCollection` give. */
export class Definition {
  /** Empty where only the place says it in which it is listed. */
  readonly scope: string;
  /** Where its text comes from. */
  readonly text: TextSource;

  constructor(
    readonly kind: 'resource' | 'resource-collection',
    readonly config: Config,
    text: TextSource,
  ) {
    Object.assign(this, config);
    this.text = text;
    this.scope = config.scope === 'org' ? 'project' : ((config.scope as string | undefined) ?? '');
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
const MODES = ['eager', 'lazy', 'partial'];
/** Most instances that `partial` may ask for. */
const MOST_RECENT = 10_000;

function checkCommon(config: Config, where: string): void {
  if (config.scope !== undefined && !SCOPES.includes(config.scope as string)) {
    throw new Error(`${where}: scope must be one of ${SCOPES.join(', ')}, got ${JSON.stringify(config.scope)}`);
  }
  if (config.flowIsolation === true && config.scope === 'session') {
    throw new Error(`${where}: flowIsolation has no meaning in a session, which belongs to one flow`);
  }
  const shared = ['sharedToLineage', 'sharedToWorkstream'].find((key) => config[key] === true);
  if (shared !== undefined && config.scope !== undefined && config.scope !== 'session') {
    throw new Error(
      `${where}: ${shared} is for what a session keeps; every session sees what a ${config.scope as string} keeps`,
    );
  }
  if (config.stateSchema !== undefined && !isSchema(config.stateSchema)) {
    throw new Error(`${where}: stateSchema must be a zod schema`);
  }
  if (config.prefetchMode !== undefined && !MODES.includes(config.prefetchMode as string)) {
    throw new Error(`${where}: prefetchMode must be "eager", "lazy" or "partial"`);
  }
  checkEdges(config.edges, where);
  const { allowedExtensions } = config;
  if (allowedExtensions === undefined) return checkResourceProjection(config, where);
  if (!Array.isArray(allowedExtensions) || allowedExtensions.some((one) => typeof one !== 'string')) {
    throw new Error(`${where}: allowedExtensions must be a list of texts, like ["md", "txt"]`);
  }
  checkResourceProjection(config, where);
}

function checkSingle(config: Config, where: string): void {
  checkCommon(config, where);
  if (config.ref !== undefined && (typeof config.ref !== 'string' || config.ref === '')) {
    throw new Error(`${where}: ref must be a text`);
  }
  if (config.render !== undefined && typeof config.render !== 'function') {
    throw new Error(`${where}: render must be a function`);
  }
  if (config.prefetchMode === 'partial') {
    throw new Error(`${where}: prefetchMode "partial" is for collections; a resource has one state`);
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
  checkRecent(config, where);
  if (!Number.isInteger(prefetchWindow) || (prefetchWindow as number) < 0) {
    throw new Error(`${where}: prefetchWindow must be an integer of at least 0`);
  }
  for (const hook of ['onInstanceCreated', 'onInstanceUpdated', 'onInstanceDeleted']) {
    if (config[hook] !== undefined && typeof config[hook] !== 'function') {
      throw new Error(`${where}: ${hook} must be a function`);
    }
  }
}

function checkEdges(edges: unknown, where: string): void {
  if (edges === undefined || typeof edges === 'boolean') return;
  if (typeof edges !== 'object' || edges === null) {
    throw new Error(`${where}: edges is true or { vocabulary?, maxEdges? }`);
  }
  const { vocabulary, maxEdges } = edges as Config;
  if (vocabulary !== undefined && (!Array.isArray(vocabulary) || vocabulary.some((one) => typeof one !== 'string'))) {
    throw new Error(`${where}: edges.vocabulary must be a list of texts`);
  }
  if (maxEdges !== undefined && (!Number.isInteger(maxEdges) || (maxEdges as number) < 1)) {
    throw new Error(`${where}: edges.maxEdges must be an integer of at least 1`);
  }
}

function checkRecent({ prefetchMode, recentLimit, maxInstances }: Config, where: string): void {
  if (prefetchMode !== 'partial') return;
  const most = Math.min(MOST_RECENT, (maxInstances as number | undefined) ?? MOST_RECENT);
  if (!Number.isInteger(recentLimit) || (recentLimit as number) < 1 || (recentLimit as number) > most) {
    throw new Error(`${where}: prefetchMode "partial" needs recentLimit, an integer from 1 to ${most}`);
  }
}

function define(kind: Definition['kind'], config: unknown, where: string): Definition {
  if (typeof config !== 'object' || config === null) throw new Error(`${where} needs a configuration object`);
  const given = config as Config;
  (kind === 'resource' ? checkSingle : checkCollection)(given, where);
  const keys = isExternal(given) ? 'external collection' : 'collection';
  warnOfUnknown(kind === 'resource' ? 'resource' : keys, given, where);
  for (const [key, why] of NOT_HERE) if (given[key]) warn(`${where}: ${key} changes nothing here; ${why}`);
  reactionsOf(given.reactTo, kind !== 'resource', where);
  const made = new Definition(kind, { ...given }, textSource(given, where));
  sites.set(made, new Error().stack ?? '');
  return made;
}

/** What a server of many processes would do with a resource. */
const NOT_HERE: [string, string][] = [
  ['dynamic', 'defineResourceCollection makes what comes and goes'],
  ['prefetchWindow', 'no snapshot is sent to a browser'],
  ['sharedToLineage', 'each session keeps its own, whoever started it'],
  ['sharedToWorkstream', 'each session keeps its own, whoever started it'],
];

/** The stacks of the calls that made definitions. */
const sites = new WeakMap<Definition, string>();

export function siteOfDefinition(definition: Definition): string {
  return sites.get(definition) ?? '';
}

/** Where nothing says a scope, the place in which the resource is listed does: an older form. */
function defineNamed(kind: Definition['kind'], config: unknown, where: string): Definition {
  const made = define(kind, config, where);
  if (made.scope === '') {
    warn(`${where}: no scope; the place that lists it says it (sessionResources, …), and otherwise it is "session"`);
  }
  return made;
}

export function defineResource(config: unknown): Definition {
  return defineNamed('resource', config, 'defineResource');
}

export function defineResourceCollection(config: unknown): Definition {
  return defineNamed('resource-collection', config, 'defineResourceCollection');
}

export function isDefinedResourceCollection(value: unknown): boolean {
  return value instanceof Definition && value.kind === 'resource-collection';
}

export { defineResourceCollection as defineResourceNamespace };

/** A collection whose instances an app keeps: `read` finds one, `search` a page of them. Nothing here writes it. */
export function defineProjectedResourceCollection(config: unknown): Definition {
  return defineProjected(config, 'defineProjectedResourceCollection');
}

/** Its older name. */
export function defineExternalResourceCollection(config: unknown): Definition {
  return defineProjected(config, 'defineExternalResourceCollection');
}

function defineProjected(config: unknown, where: string): Definition {
  if (typeof config !== 'object' || config === null) throw new Error(`${where} needs a configuration object`);
  const { pattern, scope, read, search, client, reactTo, contentTemplateRef } = config as Config;
  if (typeof pattern !== 'string' || !/^[^[\]*]*\*{1,2}$/.test(pattern)) {
    throw new Error(`${where}: pattern must be a wildcard pattern, like "positions/*", got ${JSON.stringify(pattern)}`);
  }
  if (!SCOPES.includes(scope as string)) {
    throw new Error(`${where}: scope must be one of ${SCOPES.join(', ')}, got ${JSON.stringify(scope)}`);
  }
  needFunction(read, `${where}: read`);
  needFunction(search, `${where}: search`);
  const content = ((client as Config | undefined)?.content ?? {}) as Config;
  const written = ['create', 'update', 'delete'].find((key) => content[key]);
  if (written) throw new Error(`${where}: client.content.${written} has no meaning, since it is read-only`);
  if (reactTo !== undefined) {
    const kinds = Object.keys(reactTo as object).join(', ');
    throw new Error(`${where}: reactTo (${kinds}) would never run, since nothing is written here`);
  }
  if (contentTemplateRef !== undefined) {
    throw new Error(`${where}: the template source of its texts is contentTemplate, not contentTemplateRef`);
  }
  return define('resource-collection', { ...config, writable: false, [EXTERNAL]: true }, where);
}

/** Definitions made of plain configurations, which are one definition wherever they are listed. */
const plain = new Map<string, WeakMap<object, Definition>>();

function definitionOf(value: unknown, scope: string | undefined, where: string): Definition {
  if (value instanceof Definition && value.scope !== '') {
    if (scope === undefined || value.scope === scope) return value;
    throw new Error(`${where} stands among the ${scope}'s resources, but its scope is ${value.scope}`);
  }
  if (typeof value !== 'object' || value === null) {
    throw new Error(`${where} must come from defineResource or defineResourceCollection`);
  }
  const isDefined = value instanceof Definition;
  const own = isDefined ? value.config : (value as Config);
  const config = { ...own, scope: own.scope ?? scope ?? (isDefined ? 'session' : undefined) };
  if (config.scope === undefined) throw new Error(`${where}: scope must be one of ${SCOPES.join(', ')}, got undefined`);
  const known = plain.get(scope ?? '') ?? new WeakMap<object, Definition>();
  plain.set(scope ?? '', known);
  let made = known.get(value);
  if (!made) {
    const kind = 'pattern' in config ? 'resource-collection' : 'resource';
    // What was defined was checked, and told of, where it was.
    made = isDefined ? new Definition(kind, config, value.text) : define(kind, config, where);
    if (isDefined) sites.set(made, siteOfDefinition(value));
    known.set(value, made);
  }
  return definitionOf(made, scope, where);
}

/** Marks the configuration of a collection that an app keeps. */
const EXTERNAL = Symbol('external');

export const isExternal = (config: object): boolean => (config as Record<symbol, unknown>)[EXTERNAL] === true;

/** By either name: the collection is one that an app keeps, and this one shows. */
export function isProjectedResourceCollection(value: unknown): boolean {
  return value instanceof Definition && value.kind === 'resource-collection' && isExternal(value.config);
}

/** Where a block or a capability declares resources, and the scope that each place names. */
export const RESOURCE_PLACES: [string, string?][] = [
  ['resources'],
  ['sessionResources', 'session'],
  ['userResources', 'user'],
  ['projectResources', 'project'],
  ['orgResources', 'project'],
];

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
  // The graph of `edges` is a field that the author's schema does not name.
  const initial: Config = config.edges ? { edges: [] } : {};
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
