// `ctx.resources`: handles of single resources and of collections. Thin: every answer is the engine's.

import { definitionAt } from '../define/bindings';
import { functionId } from '../define/tables';
import { askerBy, native } from '../base/host';
import { isExternal } from '../define/resources';
import { fillFields, fillTemplate } from '../define/resource-texts';
import { externalHandle } from './external-collections';
import { createResourceEdgeApi } from '../base/resource-edges';
import { change, handle, type StateHandle } from './state';
import { toJson } from '../base/values';
import { toAwait } from './unawaited';

/** A resource that the running block can reach. */
interface Listed {
  id: number;
  accessor: string;
  scope: string;
  path: string;
  collection: boolean;
}

interface Entry {
  key: string;
  path: string;
}

type Json = Record<string, unknown>;

interface Template {
  raw: () => Promise<string | null>;
  fragments?: Record<string, string>;
}

/** The text of a single resource, by the name it is declared under or by its path. Its changes show at once. */
function templateIn(token: number, name: string, whose: string): Template {
  const all = listedFor(token).filter((listed) => !listed.collection);
  const found = all.find((listed) => listed.accessor === name) ?? all.find((listed) => listed.path === name);
  if (found) {
    const { readContentRaw } = resourceHandle(token, found) as unknown as { readContentRaw: Template['raw'] };
    return { raw: readContentRaw, fragments: definitionAt(found.id).text.fragments };
  }
  const message = `Cannot resolve contentTemplateRef "${name}" for ${whose}: no resource of that name is in reach`;
  throw Object.assign(new Error(message), { name: 'ResourceTemplateResolutionError' });
}

/** Refuses a path whose ending is none of `allowedExtensions`. */
function needExtension({ allowedExtensions }: Json, path: string, label: string): void {
  if (!Array.isArray(allowedExtensions)) return;
  const endings = (allowedExtensions as string[]).map((one) => one.replace(/^\.?/, '.'));
  if (endings.some((ending) => path.endsWith(ending))) return;
  throw new Error(`${label}: "${path}" must end with one of ${endings.join(', ')} (allowedExtensions)`);
}

function listedFor(token: number): Listed[] {
  return JSON.parse(native.sync('resources', token, '') as string) as Listed[];
}

function resourceHandle(token: number, listed: Listed, entry?: Entry): StateHandle {
  const target = entry ? `resource:${listed.id}:${entry.key}` : `resource:${listed.id}`;
  const path = entry?.path ?? listed.path;
  const definition = definitionAt(listed.id);
  const { config } = definition;
  const label = `resource "${listed.scope}/${path}"`;
  const dot = path.lastIndexOf('.');
  const text = () => {
    const found = native.sync('resource.text', askerBy(token), JSON.stringify(target));
    return JSON.parse(found ?? 'null') as string | null;
  };
  const { ref, isLiquid, fragments, template: hasFields } = definition.text;
  const template = (): Template | undefined => (ref === undefined ? undefined : templateIn(token, ref, label));
  const made: StateHandle = handle(token, target, label, {
    path,
    name: path,
    scope: listed.scope,
    uri: `${listed.scope}/${path}`,
    key: entry?.key,
    extension: dot > path.lastIndexOf('/') + 1 ? path.slice(dot + 1) : undefined,
    config,
    metadata: config.metadata,
    updateState: async (updater: unknown): Promise<boolean> => {
      if (typeof updater !== 'function') throw new TypeError(`${label}.updateState needs a function`);
      return (await change(token, target, { op: 'whole', updater: functionId(updater) })) === 'true';
    },
    readContentRaw: async (): Promise<string | null> => (await template()?.raw()) ?? text(),
    readContent: async (): Promise<string | null> => {
      const other = template();
      if (other) return fillTemplate((await other.raw()) ?? '', made.state as object, other.fragments);
      const found = text();
      if (found === null) return null;
      if (isLiquid) return fillTemplate(found, made.state as object, fragments);
      if (hasFields !== undefined) return fillFields(found, made.state as object);
      const render = config.render as ((content: string, state: unknown) => unknown) | undefined;
      return render ? String(await render(found, made.state)) : found;
    },
    writeContent: async (content: unknown): Promise<boolean> => {
      if (typeof content !== 'string') throw new TypeError(`${label}.writeContent needs a text, got ${typeof content}`);
      needExtension(config, path, label);
      return (await change(token, target, { op: 'content', content })) === 'true';
    },
  });
  if (config.edges) {
    const slot = (config.edges === true ? {} : config.edges) as object;
    Object.defineProperty(made, 'edges', { enumerable: true, value: createResourceEdgeApi(made as never, slot) });
  }
  return made;
}

const CREATING = ['create', 'replace', 'getOrCreate', 'upsert'];

interface Page {
  prefix?: string;
  limit?: number;
  cursor?: string;
  pageSize?: number;
  signal?: { aborted: boolean };
}

const USUAL_PAGE = 50;
const LARGEST_PAGE = 1000;

/** All instances, or with an object a page of them, `{ items, nextCursor? }`: the cursor is the last key of a page. */
const byKey = (one: Entry, two: Entry): number => (one.key < two.key ? -1 : 1);

function paged(asked: unknown, list: (prefix: unknown) => Entry[], instance: (entry: Entry) => object): object {
  if (typeof asked !== 'object' || asked === null) {
    const all = list(asked).map(instance);
    return Object.defineProperty(all, 'items', { value: all });
  }
  const { prefix, limit = USUAL_PAGE, cursor } = asked as Page;
  const entries = list(prefix).sort(byKey);
  const rest = cursor === undefined ? entries : entries.filter((entry) => entry.key > cursor);
  const page = rest.slice(0, Math.min(Math.max(1, limit), LARGEST_PAGE));
  const items = page.map(instance);
  return page.length < rest.length ? { items, nextCursor: page.at(-1)?.key } : { items };
}

function collectionHandle(token: number, listed: Listed): object {
  const target = `resource:${listed.id}`;
  const definition = definitionAt(listed.id);
  const { config } = definition;
  if (isExternal(config)) return externalHandle(token, listed, definition);
  const label = `collection "${listed.scope}/${listed.path}"`;
  const plain = (what: string, value: unknown): unknown => {
    const json = toJson(value, `${label}.${what}`);
    return json === undefined ? null : (JSON.parse(json) as unknown);
  };
  const fields = (what: string, value: unknown = {}): unknown => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return plain(what, value);
    throw new TypeError(`${label}.${what} needs an object, got ${value === null ? 'null' : typeof value}`);
  };
  const ask = async (op: string, key: unknown, rest: Json = {}) => {
    if (key === undefined || key === null) throw new TypeError(`${label}.${op} needs a key`);
    if (CREATING.includes(op) && typeof key === 'string') needExtension(config, key, label);
    return JSON.parse(await change(token, target, { op, instance: plain(op, key), ...rest })) as Entry | boolean | null;
  };
  const instance = (entry: unknown) => resourceHandle(token, listed, entry as Entry);
  const list = (prefix: unknown) => {
    const found = native.sync('resource.list', askerBy(token), JSON.stringify([target, String(prefix ?? '')]));
    return JSON.parse(found ?? '[]') as Entry[];
  };
  const find = async (key: unknown) => {
    const entry = await ask('find', key);
    return entry ? instance(entry) : undefined;
  };
  const get = async (key: unknown) => instance(await ask('get', key));
  const listAll = async (asked?: unknown) => paged(asked, list, instance);
  const count = async () => list('').length;
  return {
    pattern: listed.path,
    scope: listed.scope,
    config,
    metadata: config.metadata,
    getOptional: (key: unknown) => toAwait('handle', `${label}.getOptional(…)`, find(key)),
    get: (key: unknown) => toAwait('handle', `${label}.get(…)`, get(key)),
    create: async (key: unknown, initial?: unknown, options?: { replace?: boolean }) =>
      instance(await ask(options?.replace === true ? 'replace' : 'create', key, { fields: fields('create', initial) })),
    getOrCreate: async (key: unknown, initial?: unknown) =>
      instance(await ask('getOrCreate', key, { fields: fields('getOrCreate', initial) })),
    upsert: async (key: unknown, update?: unknown, createOnly?: unknown) =>
      instance(await ask('upsert', key, { fields: fields('upsert', update), only: fields('upsert', createOnly) })),
    list: (asked?: unknown) => toAwait('list', `${label}.list()`, listAll(asked)),
    scan: async function* (asked: Page = {}): AsyncGenerator<object> {
      for (const entry of list(asked.prefix).sort(byKey)) {
        if (asked.signal?.aborted) return;
        yield instance(entry);
      }
    },
    delete: async (key: unknown): Promise<void> => void (await ask('delete', key)),
    count: () => toAwait('count', `${label}.count()`, count()),
  };
}

/** `ctx.resources`, or the part of it that belongs to one scope. */
export function resourcesFor(token: number, scope?: string): object {
  const all = listedFor(token);
  const reachable = scope === undefined ? all : all.filter((listed) => listed.scope === scope);
  const handles = new Map<number, object>();
  const named = (name: string): object | undefined => {
    const [listed, other] = reachable.filter((one) => one.accessor === name);
    if (!listed) return undefined;
    if (other) {
      const places = [listed, other].map((one) => `ctx.${one.scope}.resources`).join(' or ');
      throw new Error(`Resource "${name}" is declared in two scopes: use ${places}`);
    }
    let known = handles.get(listed.id);
    if (!known) {
      known = listed.collection ? collectionHandle(token, listed) : resourceHandle(token, listed);
      handles.set(listed.id, known);
    }
    return known;
  };
  const names = [...new Set(reachable.map((listed) => listed.accessor))];
  const resources = {};
  for (const name of names)
    Object.defineProperty(resources, name, { enumerable: true, get: () => named(name), configurable: true });
  return Object.defineProperties(resources, {
    get: {
      value: (name: unknown) => {
        const found = named(String(name));
        if (found) return found;
        throw new Error(`Resource "${String(name)}" is not registered`);
      },
    },
    list: { value: () => names },
  });
}
