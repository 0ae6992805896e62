// `ctx.resources`: handles of single resources and of collections. Thin: every answer is the engine's.

import { definitionAt } from '../define/bindings';
import { functionId } from '../define/tables';
import { native } from '../base/host';
import { change, handle, type StateHandle } from './state';
import { toJson } from '../base/values';

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

function resourceHandle(token: number, listed: Listed, entry?: Entry): StateHandle {
  const target = entry ? `resource:${listed.id}:${entry.key}` : `resource:${listed.id}`;
  const path = entry?.path ?? listed.path;
  const { config } = definitionAt(listed.id);
  const label = `resource "${listed.scope}/${path}"`;
  const dot = path.lastIndexOf('.');
  const text = () =>
    JSON.parse(native.sync('resource.text', token, JSON.stringify(target)) ?? 'null') as [string, string] | null;
  const made: StateHandle = handle(token, target, label, {
    path,
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
    readContentRaw: async (): Promise<string | null> => text()?.[0] ?? null,
    readContent: async (): Promise<string | null> => {
      const found = text();
      if (!found) return null;
      const render = config.render as ((content: string, state: unknown) => unknown) | undefined;
      return render ? String(await render(found[0], made.state)) : found[1];
    },
    writeContent: async (content: unknown): Promise<boolean> => {
      if (typeof content !== 'string') throw new TypeError(`${label}.writeContent needs a text, got ${typeof content}`);
      return (await change(token, target, { op: 'content', content })) === 'true';
    },
  });
  return made;
}

function collectionHandle(token: number, listed: Listed): object {
  const target = `resource:${listed.id}`;
  const { config } = definitionAt(listed.id);
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
    return JSON.parse(await change(token, target, { op, instance: plain(op, key), ...rest })) as Entry | boolean | null;
  };
  const instance = (entry: unknown) => resourceHandle(token, listed, entry as Entry);
  const list = (prefix: unknown) =>
    JSON.parse(native.sync('resource.list', token, JSON.stringify([target, String(prefix ?? '')])) ?? '[]') as Entry[];
  const getOptional = async (key: unknown) => {
    const entry = await ask('find', key);
    return entry ? instance(entry) : undefined;
  };
  return {
    pattern: listed.path,
    scope: listed.scope,
    config,
    metadata: config.metadata,
    getOptional,
    get: async (key: unknown) => instance(await ask('get', key)),
    create: async (key: unknown, initial?: unknown, options?: { replace?: boolean }) =>
      instance(await ask(options?.replace === true ? 'replace' : 'create', key, { fields: fields('create', initial) })),
    getOrCreate: async (key: unknown, initial?: unknown) =>
      instance(await ask('getOrCreate', key, { fields: fields('getOrCreate', initial) })),
    upsert: async (key: unknown, update?: unknown, createOnly?: unknown) =>
      instance(await ask('upsert', key, { fields: fields('upsert', update), only: fields('upsert', createOnly) })),
    list: async (prefix?: unknown) => list(prefix).map(instance),
    delete: async (key: unknown): Promise<void> => void (await ask('delete', key)),
    count: async () => list('').length,
  };
}

/** `ctx.resources`, or the part of it that belongs to one scope. */
export function resourcesFor(token: number, scope?: string): object {
  const all = JSON.parse(native.sync('resources', token, '') as string) as Listed[];
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
