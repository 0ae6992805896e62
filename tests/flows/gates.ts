/**
 * What schemas let through: inputs, outputs, a sequencer's output gate, and schemas that a chain infers.
 */

import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const person = z.object({ name: z.string().min(1), age: z.number().default(30) });
const echo = (name: string, more: object = {}) => handler({ name, execute: (value) => value, ...more });
const explain = handler({ name: "explain", execute: (error: any) => ({ name: error.name, code: error.code, retryable: error.retryable, details: error.details }) });
const ten = z.object({ n: z.number().max(10) });
const failing = handler({ name: "failing", execute: () => { throw new Error("no"); } });
const gated = (name: string, schema: unknown = ten) => sequencer({ name, inputSchema: z.any(), outputSchema: schema as any });
const count = handler({ name: "count", execute: async (value, ctx) => { await ctx.sequencer!.incState({ count: 1 }); return value; } });

/** One block gives a date, the next one takes it. */
const dated = (name: string, d: z.ZodTypeAny) => sequencer({ name })
  .step(handler({ name: "gives", outputSchema: z.object({ d }), execute: () => ({ d: new Date(0) }) as any }))
  .step(handler({ name: "takes", inputSchema: z.object({ d }), execute: (value: any) => [value.d, new Date(value.d).getTime()] }));

export default defineFlow({
  kind: "gates",
  actions: {
    dateAsDate: { block: dated("dateAsDate", z.date()) },
    dateCoerced: { block: dated("dateCoerced", z.coerce.date()) },
    dateAsText: { block: dated("dateAsText", z.string().datetime()) },
    input: { block: echo("greet", { inputSchema: person }) },
    inputNested: { block: sequencer({ name: "nested" }).step(() => ({ name: "", age: 1 }), echo("greet", { inputSchema: person })) },
    inputRoot: { block: echo("whole", { inputSchema: z.number() }), inputSchema: z.any() },
    inputAction: { block: echo("greet"), inputSchema: z.object({ trimmed: z.string().transform((text) => text.trim()) }) },
    output: { block: echo("answer", { outputSchema: z.object({ list: z.array(z.number()) }) }) },
    outputParsed: { block: echo("answer", { outputSchema: z.object({ name: z.string().transform((text) => text.toUpperCase()), extra: z.number().default(1) }) }) },
    outputHook: {
      block: sequencer({ name: "hooked" })
        .step(echo("answer", { outputSchema: z.string().transform((text) => text.length), onCompleted: (output: number, ctx: any) => ctx.request.patchState({ seen: output }) }))
        .map((value, ctx) => ({ value, seen: ctx.request.state.seen })),
    },
    inferred: { block: sequencer({ name: "inferred" }).step(echo("greet", { inputSchema: person })).map((value) => value.age) },
    declared: { block: sequencer({ name: "declared", inputSchema: z.object({ name: z.string(), age: z.string() }) }).map((value) => value).step((value) => ({ ...value, age: Number(value.age) }), echo("greet", { inputSchema: person })) },
    notInferred: { block: sequencer({ name: "notInferred" }).map((value) => value ?? "nothing").tap(echo("any")) },
    gate: { block: gated("gate").step(echo("last")) },
    gateExit: { block: sequencer({ name: "outer", inputSchema: z.any() }).step(gated("gateExit").exitIf(() => true).step(echo("never"))).rescue([{ block: explain }]) },
    gateRescue: { block: sequencer({ name: "outer", inputSchema: z.any() }).step(gated("gateRescue").step(failing).rescue([{ block: handler({ name: "late", execute: () => ({ n: 99 }) }) }])).rescue([{ block: explain }]) },
    gateState: {
      block: sequencer({ name: "outer", inputSchema: z.any() })
        .step(sequencer({ name: "gateState", inputSchema: z.any(), outputSchema: ten, stateSchema: z.object({ count: z.number().default(0) }) }).step(count).step(echo("quiet")))
        .rescue([{ block: explain }]),
    },
    gateOwnRescue: { block: gated("gateOwnRescue").step(echo("last")).rescue([{ block: explain }]) },
    gateTransform: { block: gated("gateTransform", z.object({ n: z.number() }).transform(({ n }) => `n=${n}`)).step(echo("last")) },
    gateAsync: { block: gated("gateAsync", z.number().refine(async (n) => { await Promise.resolve(); return n % 2 === 0; }, "must be even")).step(echo("last")) },
    gateRescued: { block: gated("gateRescued").step(failing).rescue([{ block: handler({ name: "fine", execute: () => ({ n: 1 }) }) }]) },
    gateStrips: { block: gated("gateStrips").step(echo("last")) },
  },
});
