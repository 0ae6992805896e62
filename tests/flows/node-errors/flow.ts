/**
 * Every case of `throws.mjs` as a block that fails, and as an error that the flow catches itself.
 */

import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { cases } from "./throws.mjs";

const names = Object.keys(cases);
const run = (name: string) => (cases as Record<string, () => unknown>)[name]?.();
const told = handler({ name: "told", execute: (error: any) => ({ name: error.name, message: error.message }) });
const fails = (name: string) => handler({ name, execute: () => run(name) }).rescue([{ block: told }]);
const tried = async (name: string) => {
  try {
    await run(name);
    return null;
  } catch (error: any) {
    return { name: error.name, message: error.message };
  }
};
const typed: unknown = 42;

export default defineFlow({
  kind: "main",
  actions: {
    all: { block: sequencer({ name: "all" }).parallel(Object.fromEntries(names.map((name) => [name, fails(name)]))) },
    caught: {
      block: handler({ name: "caught", execute: async () => Object.fromEntries(await Promise.all(names.map(async (name) => [name, await tried(name)] as const))) }),
    },
    rejected: { block: handler({ name: "rejected", execute: () => Promise.resolve().then(() => run("memberCall")).catch((error) => error.message) }) },
    typed: { block: handler({ name: "typed", execute: () => (typed as { split(by: string): string[] }).split(" ")!.map((part: string): string => part) }) },
    schema: { block: handler({ name: "schema", execute: async (_input, ctx) => (ctx as any).session.nope("x") }) },
  },
});
