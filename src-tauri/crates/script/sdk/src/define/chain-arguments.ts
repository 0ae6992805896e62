// The argument forms of a chain's methods (SEMANTICS §3.1): what was meant, or an error that says
// what was given and what is right.

import { describeValue, needFunction } from '../base/arguments';
import { isBlock, needBlock, type Block, type Config, type Fn } from './blocks';
import { nearest, warn } from './known-keys';
import { warnOfOthers } from './nested-keys';
import { isSchema } from '../base/schema';
import { connectorUnder, stepOptions, type StepOptions } from './step-options';

export interface Chained extends StepOptions {
  block: Block;
  connector?: Fn;
}

/** A method whose first argument is a condition says so in its errors. */
export type Lead = { condition: unknown } | undefined;

/** What takes options behind its block. */
const WITH_OPTIONS = ['step', 'stepIf'];

/** The argument forms of SEMANTICS §3.1: block, connector and block, or factory and config; of a step with options. */
export function chained(where: string, args: unknown[], lead?: Lead, more: string[] = []): Chained {
  const rest = isBlock(args[0]) ? args.slice(1) : args.slice(2);
  const [given] = rest;
  const isOptions = typeof given === 'object' && given !== null && !isBlock(given) && !Array.isArray(given);
  const hasOptions = WITH_OPTIONS.includes(where) && isOptions;
  warnOfExcess(where, hasOptions ? rest.slice(1) : rest);
  const child = formOf(where, args, lead, more);
  if (!hasOptions) return child;
  const options = stepOptions(given, where);
  if (options.signal && child.connector) child.connector = connectorUnder(child.connector);
  return { ...child, ...options };
}

function formOf(where: string, args: unknown[], lead: Lead, more: string[]): Chained {
  const [first, second] = args;
  if (isBlock(first)) {
    if (isBlock(second))
      throw new TypeError(
        `${called(where, args, lead)} names two blocks; give each a call of its own, or put a connector first`,
      );
    return { block: first };
  }
  if (typeof first === 'function' && isBlock(second)) return { connector: first as Fn, block: second };
  if (typeof first === 'function' && isInlineConfig(second)) {
    const config = { ...second, name: second.name ?? 'inline' };
    return { block: needBlock((first as unknown as (c: Config) => unknown)(config), `${where}(factory, config)`) };
  }
  throw formless(where, args, [...more, 'block', 'connector, block', 'factory, config'], lead);
}

/** Tells of what stands behind a block: nothing here reads it. */
function warnOfExcess(where: string, rest: unknown[]): void {
  for (const one of rest) {
    if (typeof one !== 'object' || one === null || isBlock(one)) continue;
    for (const key of Object.keys(one)) warn(`${where}: "${key}" is no option of it and changes nothing`);
  }
}

function called(where: string, args: unknown[], lead: Lead): string {
  return `${where}(${[...(lead ? [lead.condition] : []), ...args].map(describeValue).join(', ')})`;
}

/** The error of a call that has none of the forms it may have. */
function formless(where: string, args: unknown[], forms: string[], lead: Lead): TypeError {
  const known = forms.map((form) => `${where}(${lead ? 'condition, ' : ''}${form})`);
  return new TypeError(`${called(where, args, lead)} is not one of ${known.join(', ')}`);
}

/** The first argument of a method that runs its block only if, or while, something holds. */
export function needCondition(value: unknown, where: string): Fn {
  if (typeof value === 'boolean') return (value ? ALWAYS : NEVER) as Fn;
  if (typeof value === 'function') return value as Fn;
  throw new TypeError(`${where}: the condition needs a function, true or false, got ${describeValue(value)}`);
}

/** A condition that is written out. One function each, so that its source is always the same. */
const ALWAYS = () => true;
const NEVER = () => false;

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
  if (typeof options === 'object' && options !== null && !Array.isArray(options) && !isBlock(options))
    return options as T;
  throw new TypeError(`${where}: options are an object like ${like}, got ${describeValue(options)}`);
}

export function limitOf(options: unknown, where: string): number | undefined {
  const given = optionsOf<{ maxConcurrency?: unknown }>(options, where, '{ maxConcurrency: 4 }');
  warnOfOptions(given, where, 'maxConcurrency');
  const most = given.maxConcurrency;
  if (most === undefined) return undefined;
  if (typeof most !== 'number' || !(most >= 1)) {
    throw new TypeError(`${where}: maxConcurrency must be at least 1, got ${describeValue(most)}`);
  }
  return Math.floor(most);
}

/** Tells of options that change nothing. Background work calls its limit by another name. */
function warnOfOptions(options: object, where: string, known: 'maxConcurrency' | 'concurrency', also?: string): void {
  for (const key of Object.keys(options)) {
    if (key === known || key === also) continue;
    const meant = ['maxConcurrency', 'concurrency'].includes(key) ? known : nearest(key, [known]);
    warn(`${where}: "${key}" is no option of it and changes nothing${meant ? `; did you mean "${meant}"?` : ''}`);
  }
}

/** `block`, or `{ connector, block }`. */
export function branchOf(value: unknown, where: string): Chained {
  if (isBlock(value)) return { block: value };
  const isPair = typeof value === 'object' && value !== null && ('block' in value || 'connector' in value);
  if (!isPair) throw new TypeError(`${where} needs a block, or { connector, block }, got ${describeValue(value)}`);
  const { connector, block } = value as { connector?: unknown; block?: unknown };
  const child: Chained = { block: needBlock(block, where) };
  if (connector !== undefined) child.connector = needFunction(connector, `${where}: connector`);
  return child;
}

export interface Iteration {
  connector?: Fn;
  block?: Block;
  each?: Fn;
  limit?: number;
  /** What the blocks that `each` makes are made of, as far as that is known before. */
  madeOf?: Block[];
}

/** `([connector,] blockOrFactory, options?)`; `{}` counts as options (SEMANTICS §3.1). */
export function iterating(where: string, args: unknown[], limit: 'maxConcurrency' | 'concurrency'): Iteration {
  const isOptions = (value: unknown) => typeof value === 'object' && value !== null && !isBlock(value);
  const last = args[args.length - 1];
  const options = args.length > 1 && isOptions(last) ? (last as Record<string, unknown>) : {};
  const rest = args.length > 1 && isOptions(last) ? args.slice(0, -1) : args;
  const target = rest[rest.length - 1];
  const iteration: Iteration = {};
  const { blocks, ...own } = options;
  warnOfOptions(own, where, limit);
  if (blocks !== undefined) {
    const what = `${where}: blocks`;
    iteration.madeOf = needList(blocks, what).map((block) => needBlock(block, what));
  }
  if (rest.length === 2) iteration.connector = needFunction(rest[0], `${where}: connector`);
  if (isBlock(target)) iteration.block = target;
  else iteration.each = needFunction(target, `${where} (a block, or a function that makes one)`);
  const most = options[limit];
  if (most !== undefined) {
    if (typeof most !== 'number' || !(most >= 1))
      throw new TypeError(`${where}: ${limit} must be a number of at least 1, got ${describeValue(most)}`);
    iteration.limit = Math.floor(most);
  }
  return iteration;
}

/** `([connector,] block, { name? })`. */
export function background(where: string, args: unknown[], lead?: Lead): Chained & { target?: string } {
  const [first, second] = args;
  const hasConnector = typeof first === 'function' && isBlock(second);
  if (!isBlock(first) && !hasConnector) throw formless(where, args, ['block', 'connector, block'], lead);
  const child: Chained = hasConnector ? { connector: first as Fn, block: second } : { block: first as Block };
  const options = optionsOf<{ name?: unknown }>(hasConnector ? args[2] : second, where, '{ name: "…" }');
  warnOfOthers(options, ['name'], where, 'option of it');
  const { name } = options;
  if (name === undefined) return child;
  if (typeof name !== 'string') throw new TypeError(`${where}: name must be a text, got ${describeValue(name)}`);
  return { ...child, target: name };
}
