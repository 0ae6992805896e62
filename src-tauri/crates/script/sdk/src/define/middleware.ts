// Middleware: functions that run around a block, each of which goes on by `next()` (SEMANTICS §2.13).
//
// Must not: run a block. `next()` asks the engine to, and gives what came of it.

import { describeValue } from '../base/arguments';
import type { Block, Config } from './blocks';
import { askJson, currentToken } from '../base/host';
import { standsFor } from '../base/sources';
import { toJson } from '../base/values';
import { functionId } from './tables';

type Around = (ctx: object, next: () => Promise<unknown>) => unknown;

interface Layer {
  name: string;
  execute: Around;
  filter?: (block: { name: string; kind: string }) => unknown;
}

/** Checks `middleware` of a flow or a block: `[{ name, execute, filter? }]`, outermost first. */
export function needLayers(given: unknown, where: string): Layer[] {
  if (given === undefined || given === null) return [];
  if (!Array.isArray(given)) {
    throw new TypeError(`${where}: middleware must be an array of { name, execute }, got ${describeValue(given)}`);
  }
  return given.map((layer: unknown, at) => {
    const what = `${where}: middleware[${at}]`;
    if (typeof layer === 'function') return { name: layer.name || `middleware ${at}`, execute: layer as Around };
    const { name, execute, filter } = (layer ?? {}) as Partial<Layer>;
    if (typeof execute !== 'function') {
      throw new TypeError(`${what} needs an execute function of (ctx, next), got ${describeValue(execute ?? layer)}`);
    }
    if (name !== undefined && typeof name !== 'string') {
      throw new TypeError(`${what}.name must be a text, got ${describeValue(name)}`);
    }
    if (filter !== undefined && typeof filter !== 'function') {
      throw new TypeError(`${what}.filter must be a function of { name, kind }, got ${describeValue(filter)}`);
    }
    return { name: name || `middleware ${at}`, execute, filter };
  });
}

/** What runs around a block, outermost first: the flow's, then its own. */
export function layersOf(block: Block, ofFlow: unknown): Config[] | undefined {
  const { name, kind } = block;
  const all = [
    ...needLayers(ofFlow, 'the flow').map((layer) => ({ layer, flow: true })),
    ...needLayers(block.config.middleware, `${kind} "${name}"`).map((layer) => ({ layer, flow: false })),
  ].filter(({ layer }) => !layer.filter || Boolean(layer.filter({ name, kind })));
  if (all.length === 0) return undefined;
  return all.map(({ layer, flow }) => ({ name: layer.name, call: functionId(around(layer, { name, kind })), flow }));
}

/** The same as `next()` of a layer, which tells the engine more. Authors have no such function. */
const telling = new WeakMap<() => unknown, (asked: string) => Promise<unknown>>();

/** Runs what is inside a layer with an input in place of the block's. */
export function nextWith(next: () => unknown, input: unknown): unknown {
  return telling.get(next)?.(`{"input":${toJson(input, 'the changed input') ?? 'null'}}`) ?? next();
}

/** Runs what is inside a layer that has parsed the block's input, with the result as JSON: no schema parses it again. */
export function nextParsed(next: () => unknown, parsed: string): unknown {
  return telling.get(next)?.(JSON.stringify({ parsed })) ?? next();
}

function around({ name, execute }: Layer, block: { name: string; kind: string }): unknown {
  const run = async (input: unknown, ctx: object): Promise<unknown> => {
    const token = currentToken();
    let inside: Promise<unknown> | undefined;
    const run = (asked: string): Promise<unknown> => {
      if (inside) return Promise.reject(new Error(`Middleware "${name}" called next() multiple times`));
      inside = askJson(token, 'next', asked).then((json) => (JSON.parse(json) as { data?: unknown }).data);
      return inside;
    };
    const next = () => run('{}');
    telling.set(next, run);
    try {
      return await execute(Object.assign(ctx, { block: Object.freeze({ ...block }), input }), next);
    } finally {
      // A layer that did not wait for its block has not ended before it.
      await inside?.catch(() => undefined);
    }
  };
  return standsFor(run, execute);
}
