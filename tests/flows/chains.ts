/**
 * Chains that pass a value along: steps, connectors, maps, taps, guards and mapped ends.
 */

import { defineFlow, FlowError, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const number = z.number();
const add = (name: string, n: number) => handler({ name, inputSchema: number, execute: (value: number) => value + n });
const same = handler({ name: "same", execute: (value) => value });
const add1 = add("add1", 1);
const add2 = add("add2", 2);

const note = handler({
  name: "note",
  execute: async (value, ctx) => {
    await ctx.request.pushState("notes", value);
    return "a tap's output goes nowhere";
  },
});

const notes = handler({ name: "notes", execute: (value, ctx) => ({ value, notes: ctx.request.state.notes }) });

const chain = (name: string) => sequencer({ name, inputSchema: z.any() });

/** Each definition is a value of its own: going on from one does not change it. */
const trunk = chain("trunk").step(add1);
const longer = trunk.step(add2);
const forked = trunk.step(add("add10", 10)).step(same);

const mapped = handler({
  name: "mapped",
  inputSchema: z.object({ n: number }),
  outputSchema: number,
  execute: ({ n }) => n,
  onCompleted: async (_output, ctx) => {
    await ctx.request.pushState("notes", "completed");
  },
});

export default defineFlow({
  kind: "chains",
  request: { stateSchema: z.object({ notes: z.array(z.any()).default([]) }) },
  actions: {
    connector: { block: chain("connector").step(add1).step((value) => value * 2, add2) },
    maps: {
      block: chain("maps")
        .map((value) => ({ value }))
        .map(async ({ value }, ctx) => ({ value, block: ctx.parent?.name ?? "root" })),
    },
    taps: {
      block: chain("taps")
        .tap(note)
        .tap((value) => `also nowhere: ${value}`)
        .tap((value) => value * 10, note)
        .tapIf((value) => value > 100, note)
        .tapIf((value) => value < 100, (value: number) => value - 1, note)
        .step(add1)
        .step(notes),
    },
    tapFails: {
      block: chain("tapFails").tap(() => {
        throw new Error("a tap's failure is the chain's");
      }).step(add1),
    },
    tapBlockFails: { block: chain("tapBlockFails").tap(handler({ name: "shaky", execute: () => { throw new FlowError("shaky", { code: "shaky" }); } })).step(add1) },
    stepIf: {
      block: chain("stepIf")
        .stepIf((value) => value > 10, add1)
        .stepIf(async (value) => value < 10, (value: number) => value * 100, add2)
        .thenIf(() => false, () => {
          throw new Error("the connector of a skipped step is not called");
        }, add1),
    },
    exitIf: {
      block: chain("exitIf")
        .step(add1)
        .exitIf((value) => value > 5)
        .step(add2),
    },
    innerExit: {
      block: chain("innerExit")
        .step(chain("inner").step(add1).exitIf(() => true).step(add("never", 1000)))
        .step(add2),
    },
    throwIf: {
      block: chain("throwIf")
        .throwIf((value) => value < 0, new FlowError("it is below zero", { code: "negative", details: { least: 0 } }))
        .throwIf((value) => value > 9, async (value) => new RangeError(`${value} is above nine`))
        .step(add1),
    },
    inline: {
      block: chain("inline")
        .step(handler, { outputSchema: z.object({ half: number }), execute: (value: number) => ({ half: value / 2 }) })
        .tap(handler, { name: "seen", execute: async (value, ctx) => { await ctx.request.pushState("notes", value); } })
        .step(notes),
    },
    trunk: { block: trunk },
    longer: { block: longer },
    forked: { block: forked },
    empty: { block: chain("empty") },
    inputConnected: { block: chain("inputConnected").step(mapped.connectInput((value: number) => ({ n: value + 1 }))) },
    inputReplaced: {
      block: chain("inputReplaced").step(
        mapped.connectInput(() => ({ n: -1 })).connectInput((value: number) => ({ n: value + 2 })),
      ),
    },
    inputComposed: {
      block: chain("inputComposed")
        .step(add1)
        .connectInput((value: number) => value * 2)
        .connectInput((value: { start: number }) => value.start + 1),
    },
    inputOpened: {
      block: sequencer({ name: "inputOpened", inputSchema: z.object({ n: number }) })
        .map((value) => value)
        .connectInput((text: string) => ({ text }) as any),
    },
    outputConnected: {
      block: chain("outputConnected")
        .step(mapped.connectOutput((n: number, ctx) => `n is ${n} in ${ctx.request.identity.type}`))
        .step(notes),
    },
    outputKeepsInput: {
      block: chain("outputKeepsInput").step(
        mapped.connectInput((value: number) => ({ n: value })).connectOutput((n: number) => [n]),
      ),
    },
    outputOfChain: { block: chain("outer").step(chain("chained").step(add1).connectOutput((n: number) => ({ n }))) },
    names: { block: chain("x/y").step(add("a/b:c [1]~%", 1)).tap(add("ünï 😀", 1)).step(add("a/b:c [1]~%", 1)) },
    nothing: { block: chain("nothing").map((value) => [value === null ? "null" : typeof value]).parallel({ given: same, silent: handler({ name: "gives-nothing", execute: () => undefined }) }).map(({ given, silent }) => [given, typeof silent]) },
    silent: { block: handler({ name: "silent", execute: () => undefined }) },
    deep: { block: Array.from({ length: 40 }).reduce((inner: any, _none, depth) => chain(`level${depth}`).step(inner), add1) as any },
    written: { block: chain("written").stepIf(true, add1).stepIf(false, add2).tapIf(false, () => { throw new Error("never"); }).exitIf(false).throwIf(false, new Error("never")).step(add2).exitIf(true).step(add1) },
    throughSteps: { steps: chain("throughSteps").then(add1).then(add2) },
  },
});
