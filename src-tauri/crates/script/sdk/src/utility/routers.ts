// `utility.keyedRouter`: a router by keys.

import { describeValue } from '../base/arguments';
import { needBlock, needFunction, router, type Block, type Config } from '../define/blocks';

export function keyedRouter(config: Config): Block {
  const { blocks, select, fallback, ...rest } = config;
  const where = `keyedRouter "${String(config.name)}"`;
  if (typeof blocks !== 'object' || blocks === null || Array.isArray(blocks)) {
    throw new TypeError(`${where}: blocks must be an object of blocks by key, got ${describeValue(blocks)}`);
  }
  const byKey = new Map(Object.entries(blocks).map(([key, one]) => [key, needBlock(one, `${where}: blocks.${key}`)]));
  const otherwise = fallback === undefined ? undefined : needBlock(fallback, `${where}: fallback`);
  const key = needFunction(select, `${where}: select`) as unknown as (input: unknown, ctx: unknown) => unknown;
  const routes = new Set([...byKey.values(), ...(otherwise ? [otherwise] : [])]);
  const execute = async (input: unknown, ctx: unknown): Promise<unknown> => {
    const wanted = await key(input, ctx);
    const found = byKey.get(wanted as string) ?? otherwise;
    if (found) return found;
    throw new Error(
      `[keyedRouter] no block registered under key ${describeValue(wanted)} in router "${String(config.name)}". ` +
        `Available: ${[...byKey.keys()].join(', ')}`,
    );
  };
  return router({ ...rest, routes: [...routes], execute: execute as never });
}
