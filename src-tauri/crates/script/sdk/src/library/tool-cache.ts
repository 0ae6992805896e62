// Caches of tools' results. Where a block uses one, the engine keeps those of `cacheable` tools by itself, within a
// request (SEMANTICS §6.7); a store of an author's own holds what a handler puts there.

import { defineCapability } from '../define/capability';
import { bindCache, makeCache, offerCache } from '../define/tool-caches';

export interface ToolCacheEntry {
  output: unknown;
  storedAt: number;
  ttl?: number;
  toolName: string;
}

interface StoreOptions {
  defaultTtl?: number;
  maxEntries?: number;
  defaultScope?: 'run' | 'request' | 'session';
}

const USUAL_TTL_MS = 5 * 60 * 1000;
const USUAL_ENTRIES = 5000;

export function createInMemoryToolCacheStore(options: StoreOptions = {}) {
  makeCache(options.defaultTtl ?? USUAL_TTL_MS);
  return inMemory(options);
}

/** Keeps entries by key; where there are too many, the one goes that was not looked at for longest. */
function inMemory(options: StoreOptions) {
  const { defaultTtl = USUAL_TTL_MS, maxEntries = USUAL_ENTRIES, defaultScope = 'run' } = options;
  // A map keeps the order in which keys came: the first is the one that was not used for longest.
  const entries = new Map<string, ToolCacheEntry>();
  const put = (key: string, entry: ToolCacheEntry) => {
    entries.delete(key);
    entries.set(key, entry);
  };
  return {
    defaultTtl,
    defaultScope,
    get(key: string): ToolCacheEntry | undefined {
      const entry = entries.get(key);
      if (entry) put(key, entry);
      return entry;
    },
    set(key: string, entry: ToolCacheEntry): void {
      put(key, entry);
      for (const oldest of entries.keys()) {
        if (entries.size <= maxEntries) break;
        entries.delete(oldest);
      }
    },
    delete: (key: string): void => void entries.delete(key),
    invalidate(keyOrPrefix: string): number {
      const gone = [...entries.keys()].filter((key) => key.startsWith(keyOrPrefix));
      for (const key of gone) entries.delete(key);
      return gone.length;
    },
    size: () => entries.size,
  };
}

export type ToolCacheStore = ReturnType<typeof inMemory>;

/** The stores of a request, which is one runtime's: by the name of their capability, or bound to it. */
const stores = new Map<string, ToolCacheStore>();

/** A capability that offers a store at `ctx.cap.<name>`: `store()`, `invalidate(prefix)`, `stats()`. */
export function createToolCacheCapability(options: StoreOptions & { name?: string } = {}) {
  const { name = 'toolCache', ...given } = options;
  offerCache(name, given.defaultTtl ?? USUAL_TTL_MS);
  const store = (): ToolCacheStore => {
    const known = stores.get(name) ?? inMemory(given);
    stores.set(name, known);
    return known;
  };
  return defineCapability({
    name,
    fns: () => ({
      store,
      invalidate: (keyOrPrefix: string) => store().invalidate(keyOrPrefix),
      stats: () => ({ entries: store().size() }),
    }),
  });
}

/** The store that `ctx.cap.toolCache` has from now on. */
export function bindToolCacheStore(_ctx: unknown, store: ToolCacheStore): void {
  stores.set('toolCache', store);
  bindCache(store.defaultTtl ?? USUAL_TTL_MS);
}

/** Equal arguments have equal texts: keys in order, dates, maps and sets in one form. */
export function canonicalizeToolArgs(value: unknown): string {
  return JSON.stringify(canonical(value));
}

const byText = (values: unknown[]): unknown[] =>
  values.sort((one, two) => (JSON.stringify(one) < JSON.stringify(two) ? -1 : 1));

function canonical(value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new Error(`canonicalizeToolArgs: ${value} is not a JSON number`);
  }
  if (['bigint', 'symbol', 'function'].includes(typeof value)) {
    throw new Error(`canonicalizeToolArgs: a ${typeof value} has no JSON; give the tool a keyFn of its own`);
  }
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(canonical);
  if (value instanceof Map) return { __map: byText([...value].map((entry) => entry.map(canonical))) };
  if (value instanceof Set) return { __set: byText([...value].map(canonical)) };
  const prototype = Object.getPrototypeOf(value) as { constructor?: { name?: string } } | null;
  if (prototype !== null && prototype !== Object.prototype) {
    const name = prototype.constructor?.name ?? 'a class';
    throw new Error(`canonicalizeToolArgs: an instance of ${name} has no JSON; give the tool a keyFn of its own`);
  }
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  fields.sort(([one], [two]) => (one < two ? -1 : 1));
  return Object.fromEntries(fields.map(([key, field]) => [key, canonical(field)]));
}
