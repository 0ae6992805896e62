/**
 * What an author may throw besides well-behaved errors: it is a failure with what can be read of it.
 */

import { defineFlow, handler, sequencer } from "@flow-state-dev/core";

const refuse = (what: string): never => {
  throw new Error(`nobody reads the ${what}`);
};

class Closed extends Error {
  override get message(): string { return refuse("message"); }
  override get name(): string { return refuse("name"); }
  override get stack(): string { return refuse("stack"); }
  get code(): string { return refuse("code"); }
  override get cause(): unknown { return refuse("cause"); }
  get details(): unknown { return refuse("details"); }
}

const traps = new Proxy({}, { get: () => () => refuse("trap") });
const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};
const round = () => {
  const error: any = new Error("round");
  error.cause = error;
  error.details = { error };
  return error;
};
const things: Record<string, () => unknown> = {
  closed: () => new Closed(),
  proxy: () => new Proxy(new Error("hidden"), traps),
  proxyOfClass: () => new Proxy(Closed, traps),
  revoked,
  round,
  frozen: () => Object.freeze(new Error("frozen")),
  cause: () => new Error("outer", { cause: revoked() }),
  number: () => 5,
  symbol: () => Symbol("s"),
  bare: () => Object.create(null),
  words: () => Object.assign(new Error("words"), { name: 5, message: { of: "words" } }),
};

/** Each as it is thrown at once, after an `await`, by a promise, in a chain that answers it, and as a value. */
const block = (make: () => unknown) => ({
  now: handler({ name: "now", execute: () => { throw make(); } }),
  later: handler({ name: "later", execute: async () => { await Promise.resolve(); throw make(); } }),
  rejected: handler({ name: "rejected", execute: () => Promise.reject(make()) }),
});

const told = handler({ name: "told", execute: (error: Error) => error instanceof Error });

const actions: Record<string, any> = {};
for (const [name, make] of Object.entries(things)) {
  for (const [how, thrower] of Object.entries(block(make))) {
    actions[`${name}_${how}`] = { block: thrower };
    actions[`${name}_${how}_rescued`] = { block: sequencer({ name: "chain" }).step(thrower).rescue([{ block: told }]) };
  }
  actions[`${name}_returned`] = { block: handler({ name: "returned", execute: async () => { await Promise.resolve(); return { it: make() }; } }) };
  actions[`${name}_logged`] = { block: handler({ name: "logged", execute: () => { console.log(make()); return "logged"; } }) };
  actions[`${name}_lost`] = { block: handler({ name: "lost", execute: async () => { void Promise.reject(make()); await Promise.resolve(); return "lost"; } }) };
}

export default defineFlow({ kind: "thrown", actions });
