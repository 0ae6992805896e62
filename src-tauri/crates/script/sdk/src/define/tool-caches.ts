// Where calls of `cacheable` tools are kept (SEMANTICS §6.7): a generator has a cache if it, or a block around it, uses
// the capability of one, or once one was made or bound while the request runs, as a task board does.
//
// Must not: keep an output. The engine does.

import { caught, currentToken, LOAD } from '../base/host';
import { standsFor } from '../base/sources';
import { siteOf, type Block, type Config } from './blocks';
import { tell, warn } from './known-keys';
import { functionId } from './tables';

/** The capabilities with a cache: how long an output may be used, by their names. */
const capabilities = new Map<string, number>();
/** Whether a block of the file makes one when it runs. */
let comesLater = false;
/** How long an output may be used in the cache that was made or bound while the request runs. */
let bound: number | undefined;

export function offerCache(name: string, ttlMs: number): void {
  capabilities.set(name, ttlMs);
}

export function bindCache(ttlMs: number): void {
  bound = ttlMs;
}

/** Notes that a cache is made; while the request runs it is bound at once. */
export function makeCache(ttlMs: number): void {
  if (currentToken() === LOAD) comesLater = true;
  else bindCache(ttlMs);
}

/** How long an output may be used where this block runs; nothing where nothing is kept. */
function ttlAround(ctx: Config): number | undefined {
  const around = Object.keys(ctx.cap as object).map((name) => capabilities.get(name));
  return around.findLast((ttl) => ttl !== undefined) ?? bound;
}

/** The step of a task board that makes a cache. */
const BOARD = '-install-flow-state';

/** `cacheable` as plain data. */
export function cacheOf(block: Block): Config | undefined {
  const { cacheable } = block.config;
  if (cacheable === undefined || cacheable === false || cacheable === null) return undefined;
  const settings = (typeof cacheable === 'object' ? cacheable : {}) as Config;
  const where = `${block.kind} "${block.name}"`;
  if (settings.scope === 'session') {
    warn(`${where}: cacheable.scope "session" changes nothing here: a cache ends with its request`, siteOf(block));
  }
  return { key: functionId(keyOf(settings, where)), keepIf: functionId(settings.cacheIf) };
}

/** Tells of blocks that say `cacheable` in a file where nothing would be kept. */
export function warnOfNoCache(blocks: readonly Block[]): void {
  if (capabilities.size > 0 || comesLater || blocks.some(({ name }) => name.endsWith(BOARD))) return;
  for (const block of blocks) {
    if (!block.config.cacheable) continue;
    warn(`${block.kind} "${block.name}": ${WITHOUT}`, siteOf(block));
  }
}

const WITHOUT =
  '"cacheable" changes nothing without a tool cache: list createToolCacheCapability() in "uses" of the generator';

/** What a call is known by, and how long its output may be used; nothing where nothing is kept. */
function keyOf({ ttl, keyFn }: Config, where: string): (args: unknown, ctx: Config) => Promise<unknown> {
  const key = async (args: unknown, ctx: Config): Promise<unknown> => {
    const usual = ttlAround(ctx);
    if (usual === undefined) {
      tell(`${where}: ${WITHOUT}`);
      return undefined;
    }
    try {
      const known = typeof keyFn === 'function' ? await (keyFn as (...all: unknown[]) => unknown)(args, ctx) : args;
      if (known === undefined) {
        tell(`${where}: an output is not kept, because keyFn answered nothing`);
        return undefined;
      }
      return { key: known, ttlMs: typeof ttl === 'number' && !Number.isNaN(ttl) ? ttl : usual };
    } catch (error) {
      caught(error);
      const said = error instanceof Error ? error.message : String(error);
      tell(`${where}: an output is not kept, because keyFn failed: ${said}`);
      return undefined;
    }
  };
  return standsFor(key, keyFn);
}
