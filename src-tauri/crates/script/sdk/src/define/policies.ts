// What a flow says about its requests and sessions as a whole: which requests must not run at the same
// time, how much of the past a session keeps in sight and a request looks back on.
//
// Must not: decide anything when a request comes; that is the engine's. Here is only checked what a flow
// file says, when it loads (SEMANTICS §1.6 and SEMANTICS §7.8).

import type { Config } from './blocks';
import { runnableOf } from './entries';
import { inspect } from '../base/inspect';

const POLICIES = ['allow', 'queue', 'reject', 'hold', 'defer'];
const KEYS = ['session', 'user', 'none'];
const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** How many completed requests a request looks back on unless the flow says otherwise. */
const TURNS = 50;

type Concurrency = { policy: string; key: unknown };

/** Refuses a definition whose policies make no sense. */
export function checkPolicies(definition: Config): void {
  const where = `Flow "${definition.kind as string}"`;
  readConcurrency((definition.request as Config | undefined)?.concurrency, `${where}: request.concurrency`);
  for (const [name, action] of runnableOf(definition)) {
    readConcurrency(action.concurrency, `${where}: ${name}: concurrency`);
  }
  sessionPast(definition);
}

/** An action's policy, or the flow's; nothing where any number of requests may run. */
export function concurrencyOf(definition: Config, action: Config): Concurrency | undefined {
  const given = action.concurrency ?? (definition.request as Config | undefined)?.concurrency;
  const read = readConcurrency(given, 'concurrency');
  return read && read.policy !== 'allow' && read.key !== 'none' ? read : undefined;
}

function readConcurrency(given: unknown, where: string): Concurrency | undefined {
  if (given === undefined) return undefined;
  const { policy, key = 'session' } = (
    typeof given === 'object' && given !== null ? given : { policy: given }
  ) as Config;
  if (policy === 'debounce' || policy === 'restart') {
    throw new Error(`${where}: "${policy}" is reserved and does not work yet; use ${list(POLICIES)}`);
  }
  if (!POLICIES.includes(policy as string)) {
    throw new Error(`${where}: the policy is ${list(POLICIES)}, not ${shown(policy)}`);
  }
  if (typeof key !== 'function' && !KEYS.includes(key as string)) {
    throw new Error(`${where}: the key is ${list(KEYS)} or a function that returns a string, not ${shown(key)}`);
  }
  return { policy: policy as string, key };
}

/** `session.historyWindow` and `session.retention`, in numbers. */
export function sessionPast(definition: Config): { historyTurns: number; retention?: Config } {
  const { retention, historyWindow } = (definition.session ?? {}) as Config;
  const where = `Flow "${definition.kind as string}": session`;
  const turns = historyWindow === undefined ? TURNS : fields(historyWindow, ['turns'], `${where}.historyWindow`).turns;
  const historyTurns = window(turns, `${where}.historyWindow.turns`);
  if (retention === undefined) return { historyTurns };
  const { maxItems, maxAge } = fields(retention, ['maxItems', 'maxAge'], `${where}.retention`);
  return {
    historyTurns,
    retention: {
      maxItems: maxItems === undefined ? undefined : count(maxItems, `${where}.retention.maxItems`),
      maxAgeMs: maxAge === undefined ? undefined : milliseconds(maxAge, `${where}.retention.maxAge`),
    },
  };
}

function fields(given: unknown, known: string[], where: string): Config {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new Error(`${where} is an object with ${list(known)}, not ${shown(given)}`);
  }
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`${where} has no "${unknown}"; it has ${list(known)}`);
  return given as Config;
}

/** How many turns are in sight; 0 or less is no limit. */
function window(given: unknown, where: string): number {
  if (typeof given !== 'number' || !Number.isInteger(given)) {
    throw new Error(`${where} is a whole number, not ${shown(given)}`);
  }
  return given > 0 ? given : Number.MAX_SAFE_INTEGER;
}

function count(given: unknown, where: string): number {
  if (typeof given !== 'number' || !Number.isInteger(given) || given < 0) {
    throw new Error(`${where} is a whole number from 0 on, not ${shown(given)}`);
  }
  return given;
}

function milliseconds(given: unknown, where: string): number {
  if (typeof given === 'number' && Number.isFinite(given) && given >= 0) return Math.floor(given);
  const [, amount, unit] = (typeof given === 'string' && /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/.exec(given)) || [];
  if (unit === undefined)
    throw new Error(`${where} is milliseconds, or a text like "24h" or "7d", not ${shown(given)}`);
  return Math.floor(Number(amount) * (UNITS[unit] as number));
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : inspect(value);
}

function list(words: string[]): string {
  return words.map((word) => `"${word}"`).join(', ');
}

/** A key function's answer, for the engine: it is asked before the request exists, and may not wait. */
export function keyOf(fn: (request: unknown) => unknown, request: unknown): string | undefined {
  const key = fn(request);
  if (key === undefined || key === null) return undefined;
  if (typeof key !== 'string') throw new TypeError(`a concurrency key is a string or undefined, not ${shown(key)}`);
  return key;
}
