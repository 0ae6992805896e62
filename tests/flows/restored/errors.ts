/**
 * Everything that people throw, described where it is caught: the description after a resume, after a kill and in a
 * replay must be the one of the live run.
 */

import { defineFlow, FlowError, handler, sequencer, ValidationError } from "@flow-state-dev/core";
import { z } from "zod";
import { z as four } from "zod/v4";

const PAUSE_MS = 600_000;

class OutOfStock extends Error {
  constructor(readonly sku: string) { super("out of stock"); }
  get both(): string { return `${this.message}: ${this.sku}`; }
  say(): string { return `no ${this.sku}`; }
}
class Base extends Error { a = 1; }
class Derived extends Base { b = [2, { c: "three" }]; override name = "DerivedError"; }
class Coded extends FlowError {
  constructor(message: string, readonly extra: { a: number }) {
    super(message, { code: "coded", details: { d: 1 }, cause: new RangeError("inner"), retryable: true });
  }
  get both(): string { return `${this.message}: ${this.extra.a}`; }
}
class Aborted extends DOMException { reason = "mine"; }
const named = (name: string) => { const error = new Error("named"); error.name = name; return error; };
const circle = () => { const error: any = new Error("circle"); error.cause = error; error.details = { error }; return error; };
const shared = () => { const cause = new OutOfStock("s"); return Object.assign(new Error("shared", { cause }), { again: cause }); };
const refusal = (parse: () => unknown) => { try { return parse(); } catch (error) { return error; } };

const things: Record<string, () => unknown> = {
  plain: () => new Error("plain"),
  fields: () => new OutOfStock("tea"),
  derived: () => new Derived("derived"),
  coded: () => new Coded("coded", { a: 5 }),
  validation: () => new ValidationError("own", { details: { issues: ["one"] } }),
  type: () => Object.assign(new TypeError("type"), { at: "here" }),
  runtime: () => refusal(() => (undefined as any).missing),
  cause: () => new Error("outer", { cause: new Derived("middle", { cause: new OutOfStock("c") } as any) }),
  causeText: () => new Error("outer", { cause: "text" }),
  causeObject: () => new Error("outer", { cause: { k: 1 } }),
  causeNone: () => new Error("outer", { cause: undefined }),
  gathered: () => new AggregateError([new TypeError("1"), "two", new AggregateError([new Derived("3")], "in"), new OutOfStock("t")], "all"),
  dom: () => new DOMException("dom", "NotFoundError"),
  aborted: () => new Aborted("dom", "TimeoutError"),
  frozen: () => Object.freeze(new OutOfStock("ice")),
  sealed: () => Object.seal(new Derived("sealed")),
  text: () => "text",
  number: () => 42,
  nothing: () => null,
  object: () => ({ message: "m", code: "c", k: [1] }),
  map: () => new Map([[1, 2]]),
  values: () => Object.assign(new Error("values"), { status: 404, response: { body: "x" }, on: new Date(5), u: undefined, n: NaN, z: -0, m: new Map([["a", new Set([1])]]), big: 10n, $error: 1, tagged: { $date: 5 }, own() {} }),
  getter: () => Object.defineProperty(new Error("getter"), "lazy", { enumerable: true, configurable: true, get: () => 7 }),
  detailsList: () => new FlowError("details", { code: "c", details: [1, 2], cause: new Error("in") }),
  detailsCause: () => new FlowError("details", { details: { when: 1, cause: "mine" } }),
  named: () => named("CustomError"),
  nameless: () => named(""),
  circle,
  shared,
  inside: () => Object.assign(new Error("inside"), { first: new OutOfStock("i"), list: [new TypeError("t")] }),
  zodThree: () => refusal(() => z.object({ a: z.number(), b: z.union([z.string(), z.object({ q: z.number() })]) }).parse({})),
  zodFour: () => refusal(() => four.object({ a: four.number(), b: four.union([four.string(), four.object({ q: four.number() })]) }).parse({})),
};
const names = Object.keys(things);
const classes: Record<string, any> = { Error, TypeError, RangeError, AggregateError, OutOfStock, Base, Derived, FlowError, Coded, ValidationError, DOMException, Aborted, zodThree: z.ZodError, zodFour: four.ZodError };

const DEEPEST = 4;

/** A value as JSON that tells apart what JSON does not. */
function described(value: any, depth = 0): unknown {
  if (value instanceof Error) return describedError(value, depth);
  if (typeof value === "number" && (Object.is(value, -0) || Number.isNaN(value))) return Object.is(value, -0) ? "-0" : "NaN";
  if (typeof value !== "object" || value === null) return value === null || ["string", "number", "boolean"].includes(typeof value) ? value : `${typeof value} ${String(value).slice(0, 9)}`;
  if (depth > DEEPEST) return "…";
  if (value instanceof Date) return `date ${value.getTime()}`;
  if (value instanceof Map || value instanceof Set) return [value.constructor.name, ...[...value].map((one) => described(one, depth + 1))];
  if (Array.isArray(value)) return value.map((one) => described(one, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, described(one, depth + 1)]));
}

function describedError(error: any, depth: number): unknown {
  if (depth > DEEPEST) return "…";
  const inner = (value: unknown) => (value === error ? "itself" : described(value, depth + 1));
  const keys = Object.keys(error).filter((key) => typeof error[key] !== "function").sort();
  return {
    of: Object.keys(classes).filter((name) => error instanceof classes[name]),
    text: String(error), name: error.name, message: error.message, tag: Object.prototype.toString.call(error), constructor: error.constructor.name,
    own: keys.map((key) => [key, inner(error[key])]),
    code: inner(error.code), details: inner(error.details), cause: inner(error.cause), hasCause: "cause" in error, errors: inner(error.errors),
    locked: [Object.isFrozen(error), Object.isSealed(error), Object.isExtensible(error)],
    both: inner(error.both), said: error.say?.() ?? null, isShared: error.again === undefined ? null : error.again === error.cause,
    issues: inner(error.issues), isEmpty: inner(error.isEmpty), format: error.format?.() ?? null, flat: error.flatten?.() ?? null,
    stack: typeof error.stack, json: (() => { try { return JSON.stringify(error); } catch { return "none"; } })(),
  };
}

const any = { inputSchema: z.any(), outputSchema: z.any() };
const throwers = names.map((name) => handler({ name, ...any, execute: () => { throw (things[name] as () => unknown)(); } }));
const chain = () => sequencer({ name: "chain", inputSchema: z.any() }) as any;
const question = (ctx: any) => ctx.suspend({ reason: "approval", message: "Go on?" });

/** Describes what it finds, after a question if it asks one: then in a run that has thrown none of it. */
const look = (asks: boolean, find: (input: any, ctx: any) => unknown) =>
  handler({ name: "look", ...any, execute: async (input: any, ctx: any) => { if (asks) await question(ctx); return described(await find(input, ctx)); } });

/** Of a class that the flow names nowhere but where it throws. */
class Unnamed extends Error {
  sku = "tea";
  get both(): string { return `${this.message}: ${this.sku}`; }
}
const throwsUnnamed = handler({ name: "throwsUnnamed", ...any, execute: () => { throw new Unnamed("unnamed"); } });
const unnamed = (error: any) => [error.sku, error.both, error.constructor.name];

const rests = handler({ name: "rests", ...any, execute: async (error: any) => {
  await new Promise((go) => setTimeout(go, PAUSE_MS));
  return described(error);
} });
const quick = handler({ name: "rests", ...any, execute: async (error: any) => {
  await new Promise((go) => setTimeout(go, 1));
  return described(error);
} });
const rescues = (by: any) => ({ block: chain().parallel(Object.fromEntries(throwers.map((thrower) => [thrower.name, thrower.rescue([{ block: by }])]))) });

const failing = handler({ name: "failing", ...any, execute: () => { throw new OutOfStock("work"); } });
const fields = throwers[names.indexOf("fields")] as any;
const caught = (asks: boolean) => handler({ name: "caught", ...any, execute: async (_input: any, ctx: any) => {
  const found: [string, any][] = [];
  for (const thrower of throwers) {
    try { await thrower.run(1, ctx); } catch (error) { found.push([thrower.name, error]); }
  }
  if (asks) await question(ctx);
  return found.map(([name, error]) => [name, described(error)]);
} });
const again = (asks: boolean) => handler({ name: "again", ...any, execute: async (_input: any, ctx: any) => {
  try { await fields.run(1, ctx); } catch (error) {
    if (asks) await question(ctx);
    throw error;
  }
} });

const forms: Record<string, (asks: boolean) => any> = {
  run: (asks) => caught(asks),
  result: (asks) => chain().stepAny([...throwers, handler({ name: "fine", ...any, execute: () => 1 })]).step(look(asks, (_input, ctx) => names.map((name) => ctx.getBlockResult(name).error))),
  first: (asks) => chain().stepAny(throwers).rescue([{ block: look(asks, (error) => error) }]),
  race: (asks) => chain().race(throwers).rescue([{ block: look(asks, (error) => error) }]),
  work: (asks) => chain().work(failing).tap(handler({ name: "tap", ...any, execute: () => null })).waitForWork({ failOnError: true }).rescue([{ block: look(asks, (error) => error) }]),
  unnamed: (asks) => chain().step(throwsUnnamed.rescue([{ block: look(asks, unnamed) }])),
  rethrown: (asks) => chain().step(again(asks)).rescue([{ when: [OutOfStock], block: look(asks, (error) => error.say()) }]),
};

const actions: Record<string, any> = { rests: rescues(rests), quick: rescues(quick) };
for (const [name, form] of Object.entries(forms)) {
  actions[name] = { block: form(false) };
  actions[`${name}Asks`] = { block: form(true) };
}

export default defineFlow({ kind: "errors", actions });
