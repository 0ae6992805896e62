/** Activities that try every way to data that is not scoped to them, one way each. The input is the context. */
import { defineCapability, defineFlow, defineResource } from "@flow-state-dev/core";
import { FlowError, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
import { Activity, Agent, Delegate, Tool } from "acts";
import type { Call, Message, Scoped } from "acts";

type Any = Record<string, any>;
const attempt = (work: () => unknown): unknown => {
  try {
    const found = work();
    return typeof found === "object" && found !== null ? Object.keys(found) : String(found);
  } catch (error) {
    return (error as Error).name;
  }
};
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const context: Message[] = [{ type: "state", mine: 1 }, { type: "data", kind: "vault", data: { secret: "s3cret" } }];
const inner: Message[] = [{ type: "system", message: "inner" }, { type: "tool", tool: "any" }];
const shared: Any = { Object: Object.prototype, Promise: Promise.prototype, Map: Map.prototype };
const [EVAL, THEN] = "eval then".split(" ") as [string, string];
let kept: { call: Call; scoped: Scoped } | undefined;

const tools = new Map<string, (call: Call, scoped: Scoped) => unknown>();
const shut = { call: undefined as unknown, scoped: undefined as unknown };

/** Keeps what it got, and changes it at once: copies, so that nobody sees it. */
tools.set("keep", (call, scoped) => {
  kept = { call, scoped };
  call.amount = "changed";
  (call._scopes ??= []).push("vault");
  scoped.state.mine = "changed";
  scoped.vault = "invented";
  return Object.keys(scoped);
});
/** A reference that was kept and is used in another Call: what it changes, nobody gets. */
tools.set("reuse", (_call, scoped) => {
  const old = kept?.scoped;
  if (old) old.state.mine = "changed later";
  context.push({ type: "state", mine: "pushed later" });
  inner.push({ type: "data", kind: "vault", data: { secret: "pushed later" } });
  return { same: old?.state === scoped.state, own: scoped.state.mine, context: scoped.state.more };
});
tools.set("frozen", (call, scoped) => [
  attempt(() => (scoped as Any).__proto__),
  attempt(() => Object.keys(Object.getPrototypeOf(scoped))),
  attempt(() => (Object.getPrototypeOf(scoped).vault = "x")),
  attempt(() => (Object.getPrototypeOf(call).vault = "x")),
  attempt(() => Object.defineProperty(shared.Object, "vault", { get: () => "x" })),
  attempt(() => (Object.prototype as Any).__defineGetter__("vault", () => "x")),
  attempt(() => ((Function.prototype as Any).call = () => "x")),
  attempt(() => (shared.Promise[THEN] = () => "x")),
  attempt(() => (shared.Map.get = () => "x")),
  attempt(() => (Symbol.prototype as Any).vault = "x"),
]);
/** Neither the stack of calls nor made code leads out. */
tools.set("climb", function climb(...given: unknown[]) {
  const own = climb as unknown as Any;
  return [
    attempt(() => own.caller),
    attempt(() => own.arguments),
    attempt(() => (given as Any).callee),
    attempt(() => new Error("x").stack?.includes("s3cret")),
    attempt(() => ((Error as Any).prepareStackTrace = (_e: unknown, sites: Any[]) => sites)),
    attempt(() => ((Error as Any).stackTraceLimit = 1000)),
    attempt(() => Function("return typeof this.secret")()),
    attempt(() => (globalThis as Any)[EVAL]("typeof vault")),
    attempt(() => (tools.get as Any).constructor("return Object.keys(this).filter((key) => /flow|act/.test(key)).length")()),
  ];
});
/** Every name of the global object, and what hangs below it, holds no text of the vault. */
tools.set("search", () => {
  const seen = new Set<object>();
  const next: unknown[] = [globalThis];
  while (next.length > 0) {
    const one = next.pop();
    if (one === "s3cret") return "found";
    if ((typeof one !== "object" && typeof one !== "function") || one === null || seen.has(one)) continue;
    seen.add(one);
    next.push(Object.getPrototypeOf(one));
    for (const key of Reflect.ownKeys(one)) {
      try {
        next.push((one as Any)[key as string]);
      } catch {
        // A getter that wants another `this`.
      }
    }
  }
  return seen.size > 100 ? "nothing" : `only ${seen.size} objects`;
});
/** Of all that Activities share, nothing can be changed: no object takes a new property, no property another value. */
tools.set("open", () => {
  type Helpers = Record<string, (...given: unknown[]) => unknown>;
  const helpers = (globalThis as unknown as { Iterator: Helpers }).Iterator;
  const values = [1].values() as unknown as Helpers;
  const made = [
    [[].values(), new Map().entries(), "a".matchAll(/a/g), values.map?.((one: unknown) => one), function* () {}],
    [helpers.from?.({ next: () => ({ done: true }) }), setTimeout(() => {}, 0), new AbortController().signal],
    [new URL("http://localhost/?a=1").searchParams, new Headers().entries(), new Request("http://localhost/")],
    [handler({ name: "spy", execute: () => 1 }), sequencer({ name: "s" })],
    [generator({ name: "g", model: "m", prompt: "p" })],
    [Agent({ name: "a", model: "m", context: [] }), defineResource({ scope: "session", stateSchema: z.object({}) })],
    [defineCapability({ name: "c" }), new FlowError("x")],
  ].flat();
  const exported = [Tool, Activity, Delegate, Agent, handler, FlowError, structuredClone];
  const seen = new Set<object>();
  const open: string[] = [];
  const next: [unknown, string][] = [[globalThis, "global"]];
  // What was made belongs to whoever made it; its prototypes and its methods are shared.
  made.forEach((one, n) => next.push([Object.getPrototypeOf(one), `made ${n}`]));
  exported.forEach((one, n) => next.push([one, `exported ${n}`]));
  while (next.length > 0) {
    const [one, at] = next.pop()!;
    if ((typeof one !== "object" && typeof one !== "function") || one === null || seen.has(one)) continue;
    seen.add(one);
    if (Object.isExtensible(one)) open.push(at);
    next.push([Object.getPrototypeOf(one), `${at}.[[prototype]]`]);
    for (const key of Reflect.ownKeys(one)) {
      const own = Reflect.getOwnPropertyDescriptor(one, key)!;
      const place = `${at}.${String(key)}`;
      if (own.configurable || own.writable) open.push(`${place} can change`);
      if (own.set && typeof one === "function" && one !== Function.prototype) open.push(`${place} can be set`);
      next.push([own.value, place], [own.get, `${place} get`], [own.set, `${place} set`]);
    }
  }
  return seen.size > 1000 ? open : [`looked at ${seen.size} objects only`];
});
/** What one leaves in getters and in a toJSON is read once, when it returns. */
tools.set("getters", (_call, scoped) => {
  let reads = 0;
  return {
    get isRead() {
      return ++reads > 0;
    },
    inner: { toJSON: () => `json ${Object.keys(scoped).join()}` },
  };
});
tools.set("names", (call) => {
  const options = call.options as Any;
  return [options.admin === undefined, Object.getPrototypeOf(options) === Object.prototype, Object.keys(options)];
});
tools.set("throws", (_call, scoped) => {
  const error = new Error("it broke", { cause: scoped.vault }) as Error & Any;
  error.secret = scoped.vault.secret;
  error.details = scoped.vault;
  error.stack = `at ${scoped.vault.secret}`;
  throw error;
});
tools.set("throwsValue", (_call, scoped) => {
  throw { vault: scoped.vault };
});
tools.set("throwsGetter", () => {
  throw Object.defineProperty(new Error("x"), "message", { get: () => attempt(() => kept!.scoped.vault) });
});
tools.set("slow", async (_call, scoped) => {
  const before = scoped.part.n;
  await sleep(before === 1 ? 8 : 2);
  const between = scoped.part.n;
  await Promise.resolve();
  return [before, between, scoped.part.n, Object.keys(scoped)];
});
/** Goes on after it returned: what it changes then, nobody sees, and what it throws ends nothing. */
tools.set("goesOn", (_call, scoped) => {
  const result: Any = { seen: Object.keys(scoped) };
  void sleep(1).then(() => {
    result.late = "late";
    shut.scoped = scoped;
    throw new Error("nobody waits");
  });
  setTimeout(() => (scoped.state.mine = "late"), 1);
  void (async () => {
    for (let turn = 0; turn < 20; turn++) await undefined;
    result.later = "late";
    scoped.state.mine = "late";
  })();
  return result;
});
tools.set("waits", async (_call, scoped) => {
  await sleep(10);
  return [shut.scoped === undefined ? "not yet" : "went on", scoped.state.mine, attempt(() => scoped.vault)];
});
tools.set("returnsBlock", () => handler({ name: "spy", execute: (_input, ctx) => ctx.session.state }));
tools.set("returnsFunction", () => () => "x");
tools.set("returnsCall", () => ({ type: "tool", tool: { spy: { properties: { _scopes: { const: ["vault"] } } } } }));
tools.set("returnsPromise", () => ({ [THEN]: (resolve: (value: string) => void) => resolve("settled") }));

for (const [name, run] of tools) {
  const scopes = { type: "array", items: { enum: ["state", "part", ...(name.startsWith("throws") ? ["vault"] : [])] } };
  Tool.register(name, { properties: { amount: {}, options: {}, _scopes: scopes, _outputPath: { type: "string" } } });
  Activity.register(name, run);
}
const asked = { items: { enum: ["state"] } };
Tool.register("ask", { properties: { _delegate: { const: "inner" }, _scopes: asked, _outputPath: {} } });
Tool.register("any", { properties: { _outputPath: { type: "string" } } });
Activity.register("any", (_call, scoped) => scoped);
Delegate.register("inner", { context: inner });
inner.push({ type: "tool", tool: "search" });

const agent = Agent<Message[] | null>({
  name: "guard",
  model: "gpt-5-mini",
  context: (given) => {
    const offered = [...tools.keys(), "ask", "any"].map((tool): Message => ({ type: "tool", tool }));
    if (given) return [...given, ...offered];
    context.push(...offered);
    return context;
  },
  confirm: (call) => {
    // What a question does with its Call changes nothing either.
    call._scopes = ["vault"];
    call.amount = "changed";
    return false;
  },
});

export default defineFlow({ kind: "acts-reach", actions: { run: { block: agent } } });
