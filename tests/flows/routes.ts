/**
 * Choosing a way: branches by condition, routers by decision.
 */

import { defineFlow, handler, router, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const says = (name: string) => handler({ name, execute: (value) => ({ by: name, value }) });
const small = says("small");
const big = says("big");
const stranger = says("stranger");
const chain = (name: string) => sequencer({ name, inputSchema: z.any() });

const size = z.object({ n: z.number() });

const bySize = router({
  name: "bySize",
  inputSchema: size,
  routes: [small, big],
  execute: async ({ n }) => (n < 10 ? small : big),
});

const unruly = (name: string, more: object = {}) => router({ name, routes: [small, big], execute: () => stranger, ...more });

export default defineFlow({
  kind: "routes",
  actions: {
    branch: {
      block: chain("branch").branch({
        low: [(value: number) => value, (value: number) => value < 10, small],
        high: [async (value: number) => value * 2, async (value: number) => value >= 20, big],
      }),
    },
    branchFirst: {
      block: chain("branchFirst").branch({
        one: [(value: number) => value, () => true, small],
        two: [() => { throw new Error("later arms are not asked"); }, () => true, big],
      }),
    },
    made: { block: router({ name: "made", routes: [], validateRoute: (candidate) => candidate.name === "made-3", execute: (n: number) => says(`made-${n}`) }) },
    branchNone: { block: chain("branchNone").branch({ never: [(value: number) => value, () => false, small] }) },
    route: { block: bySize },
    routeInChain: { block: chain("routeInChain").step((n: number) => ({ n }), bySize).map((out) => out.by) },
    routeAdapted: {
      block: router({ name: "adapts", inputSchema: size, routes: [small, big], execute: () => big.connectInput(({ n }: { n: number }) => n + 1) }),
    },
    routeByName: { block: router({ name: "twins", routes: [small, big], execute: () => says("big") }) },
    routeTwice: { block: router({ name: "aliases", inputSchema: size, routes: [small, big, small], execute: ({ n }) => (n < 10 ? small : big) }) },
    routeInvalid: { block: unruly("strict") },
    routeNothing: { block: router({ name: "silent", routes: [small], execute: () => undefined as any }) },
    routeValidated: { block: unruly("open", { validateRoute: (candidate: any, routes: any[]) => candidate.name === "stranger" && routes.length === 2 }) },
    routeRefused: { block: router({ name: "closed", routes: [small, big], validateRoute: () => false, execute: () => small }) },
    routeOutput: { block: router({ name: "checked", routes: [small], outputSchema: z.object({ by: z.literal("someone else") }), execute: () => small }) },
    routeThrows: { block: router({ name: "breaks", routes: [small], execute: () => { throw new Error("cannot decide"); } }) },
    routeToChain: { block: router({ name: "deep", routes: [chain("inner").step(small).map((out) => [out]), big], execute: (_input, ctx) => (ctx.session.state.big ? big : chain("inner")) }) },
  },
});
