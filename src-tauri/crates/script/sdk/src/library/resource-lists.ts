// The resources that a block can reach, single ones and instances of collections alike, and that its flow does not hide:
// for the tools of a model.

import { visibilityOf } from '../define/resource-rule';
import { isExternal } from '../define/resources';
import { keyMismatch } from './collection-keys';

export interface Ref {
  uri: string;
  path: string;
  scope: string;
  state: unknown;
  config: { llmReadable?: unknown; llmWritable?: unknown; writable?: unknown; metadata?: unknown };
  readContent(): Promise<string | null>;
  writeContent(text: string): Promise<unknown>;
  patchState(fields: object): Promise<unknown>;
}

export interface Collection {
  pattern: string;
  scope: string;
  config: Ref['config'];
  list(prefix?: string): Promise<Ref[]>;
  get(key: string | Record<string, string>): Promise<Ref>;
  create(key: string | Record<string, string>, initial?: object): Promise<Ref>;
  delete(key: string | Record<string, string>): Promise<unknown>;
}

interface Reach {
  resources: { list(): string[]; get(name: string): Ref | Collection };
}

const isCollection = (one: Ref | Collection): one is Collection => 'pattern' in one;

/** What the flow's rule lets be read and not written, of those that were listed last. */
const readOnly = new WeakSet<object>();

function note<T extends object>(one: T, isReadOnly: boolean): T {
  if (isReadOnly) readOnly.add(one);
  else readOnly.delete(one);
  return one;
}

/** What an app keeps itself is left out: it is neither listed nor written here. */
function reached(ctx: unknown): (Ref | Collection)[] {
  return shown(ctx).filter(({ config }) => !isExternal(config));
}

/** A collection that an app keeps itself. */
export interface Projected {
  pattern: string;
  scope: string;
  config: Ref['config'];
  getOptional(key: string): Promise<Ref | undefined>;
  list(query: { search?: string; prefix?: string; limit?: number; cursor?: string }): Promise<ProjectedPage>;
}

export interface ProjectedPage {
  items: Ref[];
  nextCursor?: string;
}

function projectedOf(ctx: unknown): Projected[] {
  return shown(ctx).filter(({ config }) => isExternal(config)) as unknown as Projected[];
}

/** The collections that an app keeps itself, and a model may read. */
export function readableProjected(ctx: unknown): Projected[] {
  return projectedOf(ctx).filter(({ config }) => isReadable(config));
}

/** What the flow does not hide. */
function shown(ctx: unknown): (Ref | Collection)[] {
  const { resources } = ctx as Reach;
  return resources.list().flatMap((name) => {
    const one = resources.get(name);
    const visibility = visibilityOf(ctx, name, one);
    return visibility === 'hidden' ? [] : [note(one, visibility === 'read-only')];
  });
}

export function collectionsOf(ctx: unknown): Collection[] {
  return reached(ctx).filter(isCollection);
}

/** `mayRead` is asked before a collection's instances are. */
export async function resourcesOf(ctx: unknown, mayRead = (_config: Ref['config']) => true): Promise<Ref[]> {
  const found: Ref[] = [];
  for (const one of reached(ctx)) {
    if (!mayRead(one.config)) continue;
    const isReadOnly = readOnly.has(one);
    if (isCollection(one)) found.push(...(await one.list()).map((ref) => note(ref, isReadOnly)));
    else found.push(one);
  }
  return found;
}

export const isReadable = ({ llmReadable }: Ref['config']): boolean => llmReadable === true;
export const isWritable = (ref: Ref): boolean => ref.config.llmWritable === true && !readOnly.has(ref);

/**
 * By `<scope>/<path>`, or by the path alone; an instance that an app keeps itself by the former only, and the app is
 * asked for it only where `mayAsk` says so of its collection.
 */
export async function resourceAt(
  ctx: unknown,
  uri: string,
  mayAsk = (_config: Ref['config']) => true,
): Promise<Ref | undefined> {
  const all = await resourcesOf(ctx);
  const asked = projectedOf(ctx).filter(({ config }) => mayAsk(config));
  return all.find((ref) => ref.uri === uri) ?? (await projectedAt(asked, uri)) ?? all.find((ref) => ref.path === uri);
}

async function projectedAt(collections: Projected[], uri: string): Promise<Ref | undefined> {
  for (const { pattern, scope, getOptional } of collections) {
    const key = uri.startsWith(`${scope}/`) ? keyIn(pattern, uri.slice(scope.length + 1)) : undefined;
    if (typeof key !== 'string' || keyMismatch(pattern, key) !== undefined) continue;
    const found = await getOptional(key);
    if (found) return found;
  }
  return undefined;
}

/** A collection, and a key in it. */
export interface Place {
  collection: Collection;
  key: string | Record<string, string>;
}

/** The collection that a path belongs to, and the key it has there. */
export function collectionFor(ctx: unknown, path: string): Place {
  for (const collection of collectionsOf(ctx)) {
    const key = keyIn(collection.pattern, path);
    if (key !== undefined) return { collection, key };
  }
  throw new Error(`No resource collection found matching path: ${path}`);
}

/** The same, of a collection that may be written. */
export function writableFor(ctx: unknown, path: string): Place {
  const found = collectionFor(ctx, path);
  if (readOnly.has(found.collection)) throw new Error(`No writable resource collection found matching path: ${path}`);
  return found;
}

function keyIn(pattern: string, path: string): string | Record<string, string> | undefined {
  const [wanted, given] = [pattern.split('/'), path.split('/')];
  const params: Record<string, string> = {};
  for (const [at, part] of wanted.entries()) {
    if (part === '**') return given.length > at ? given.slice(at).join('/') : undefined;
    if (part === '*') return given.length === at + 1 && given[at] !== '' ? (given[at] as string) : undefined;
    const name = /^\[(\w+)\]$/.exec(part)?.[1];
    if (name !== undefined && given[at]) params[name] = given[at] as string;
    else if (part !== given[at]) return undefined;
  }
  return given.length === wanted.length ? params : undefined;
}
