// What `step` and `stepIf` take beside their block: a signal that it runs under, and who is told how it ended
// (SEMANTICS §3.7).

import { describeValue, needFunction, type Fn } from '../base/arguments';
import { describeThrown } from '../base/inspect';
import { standsFor } from '../base/sources';
import { runUnder } from '../globals/step-signals';
import { Signal } from '../globals/web';
import type { Config } from './blocks';
import { warnOfOthers } from './nested-keys';

declare const console: { warn(text: string): void };

type Ctx = { signal: Signal; idempotencyKey: string };

/** As functions that the engine calls: with the path of the block before it runs, and with how it ended. */
export interface StepOptions {
  signal?: Fn;
  settled?: Fn;
}

/** The signals of steps whose connectors run next, by the chain that runs them. */
const starting = new Map<string, Signal>();

export function stepOptions(given: object, where: string): StepOptions {
  warnOfOthers(given, ['abortSignal', 'onSettled'], where, 'option of it');
  const { abortSignal, onSettled } = given as Config;
  const options: StepOptions = {};
  if (abortSignal !== undefined) options.signal = signalOf(abortSignal, `${where}: abortSignal`);
  if (onSettled !== undefined) options.settled = settledOf(onSettled, `${where}: onSettled`);
  return options;
}

/** Joins the signal of the chain and the one that an author's function gives. */
function signalOf(given: unknown, where: string): Fn {
  const resolve = needFunction(given, where) as unknown as (ctx: Ctx) => unknown;
  const call = async (path: string, ctx: Ctx): Promise<void> => {
    const own = (await resolve(ctx)) ?? undefined;
    if (own !== undefined && !(own instanceof Signal)) {
      throw new TypeError(`${where} must return an AbortSignal or undefined, got ${describeValue(own)}`);
    }
    const signal = own && Signal.any([ctx.signal, own]);
    runUnder(path, signal);
    if (signal) starting.set(ctx.idempotencyKey, signal);
    else starting.delete(ctx.idempotencyKey);
  };
  return standsFor(call as unknown as Fn, given);
}

/** A connector is part of its step: it sees the step's signal. */
export function connectorUnder(connector: Fn): Fn {
  const given = connector as unknown as (value: unknown, ctx: Ctx) => unknown;
  const call = (value: unknown, ctx: Ctx): unknown => {
    const signal = starting.get(ctx.idempotencyKey);
    if (!signal) return given(value, ctx);
    const own: ProxyHandler<Ctx> = {
      get: (all, name) => (name === 'signal' ? signal : (Reflect.get(all, name) as unknown)),
    };
    return given(value, new Proxy(ctx, own));
  };
  return standsFor(call as unknown as Fn, connector);
}

/** What it throws is told and dropped: it cannot change how the step ended. */
function settledOf(given: unknown, where: string): Fn {
  const tell = needFunction(given, where) as unknown as (ctx: unknown, outcome: string) => unknown;
  const call = async (outcome: string, ctx: unknown): Promise<void> => {
    try {
      await tell(ctx, outcome);
    } catch (error) {
      console.warn(`${where} threw, which changes nothing: ${describeThrown(error)}`);
    }
  };
  return standsFor(call as unknown as Fn, given);
}
