// The argument forms of a chain's methods (core-semantics §3.4): what was meant, or an error that says
// what was given and what is right.

import { describeValue, needFunction } from './arguments';
import { isBlock, needBlock, type Block, type Config, type Fn } from './blocks';
import { isSchema } from './schema';

export interface Chained {
  block: Block;
  connector?: Fn;
}

/** The argument forms of core-semantics §3.4: block, connector and block, or factory and config. */
export function chained(where: string, args: unknown[]): Chained {
  const [first, second] = args;
  if (isBlock(first)) return { block: first };
  if (typeof first === 'function' && isBlock(second)) return { connector: first as Fn, block: second };
  if (typeof first === 'function' && isInlineConfig(second)) {
    const config = { ...second, name: second.name ?? 'inline' };
    return { block: needBlock((first as unknown as (c: Config) => unknown)(config), `${where}(factory, config)`) };
  }
  const got = args.map(describeValue).join(', ');
  throw new TypeError(
    `${where}(${got}) is not one of ${where}(block), ${where}(connector, block), ${where}(factory, config)`,
  );
}

function isInlineConfig(value: unknown): value is Config {
  if (typeof value !== 'object' || value === null || isBlock(value)) return false;
  const config = value as Config;
  return isSchema(config.outputSchema) || typeof config.execute === 'function' || config.prompt !== undefined;
}

export function needList(value: unknown, where: string): unknown[] {
  if (!Array.isArray(value)) throw new TypeError(`${where} needs an array of blocks, got ${describeValue(value)}`);
  return value as unknown[];
}

/** The trailing options of a method. */
export function optionsOf<T extends object>(options: unknown, where: string, like: string): T {
  if (options === undefined) return {} as T;
  if (typeof options === 'object' && options !== null && !Array.isArray(options) && !isBlock(options)) return options as T;
  throw new TypeError(`${where}: options are an object like ${like}, got ${describeValue(options)}`);
}

export function limitOf(options: unknown, where: string): number | undefined {
  const most = optionsOf<{ maxConcurrency?: unknown }>(options, where, '{ maxConcurrency: 4 }').maxConcurrency;
  if (most === undefined) return undefined;
  if (typeof most !== 'number' || !(most >= 1)) {
    throw new TypeError(`${where}: maxConcurrency must be at least 1, got ${describeValue(most)}`);
  }
  return Math.floor(most);
}

/** `block`, or `{ connector, block }`. */
export function branchOf(value: unknown, where: string): Chained {
  if (isBlock(value)) return { block: value };
  const { connector, block } = (value ?? {}) as { connector?: unknown; block?: unknown };
  const child: Chained = { block: needBlock(block, where) };
  if (connector !== undefined) child.connector = needFunction(connector, `${where}: connector`);
  return child;
}

export interface Iteration {
  connector?: Fn;
  block?: Block;
  each?: Fn;
  limit?: number;
}

/** `([connector,] blockOrFactory, options?)`; `{}` counts as options (core-semantics §3.4). */
export function iterating(where: string, args: unknown[], limit: 'maxConcurrency' | 'concurrency'): Iteration {
  const isOptions = (value: unknown) => typeof value === 'object' && value !== null && !isBlock(value);
  const last = args[args.length - 1];
  const options = args.length > 1 && isOptions(last) ? (last as Record<string, unknown>) : {};
  const rest = args.length > 1 && isOptions(last) ? args.slice(0, -1) : args;
  const target = rest[rest.length - 1];
  const iteration: Iteration = {};
  if (rest.length === 2) iteration.connector = needFunction(rest[0], `${where}: connector`);
  if (isBlock(target)) iteration.block = target;
  else iteration.each = needFunction(target, `${where} (a block, or a function that makes one)`);
  const most = options[limit];
  if (most !== undefined) {
    if (typeof most !== 'number' || !(most >= 1)) throw new TypeError(`${where}: ${limit} must be a number of at least 1, got ${describeValue(most)}`);
    iteration.limit = Math.floor(most);
  }
  return iteration;
}

/** `([connector,] block, { name? })`. */
export function background(where: string, args: unknown[]): Chained & { target?: string } {
  const [first, second] = args;
  const child: Chained = isBlock(first)
    ? { block: first }
    : { connector: needFunction(first, where), block: needBlock(second, where) };
  const { name } = optionsOf<{ name?: unknown }>(isBlock(first) ? second : args[2], where, '{ name: "…" }');
  if (name === undefined) return child;
  if (typeof name !== 'string') throw new TypeError(`${where}: name must be a text, got ${describeValue(name)}`);
  return { ...child, target: name };
}
