/**
 * Which answers a question takes, what each gives, and what becomes of one that is refused or late.
 */

import { defineFlow, handler, sequencer, SUSPENSION_SKIPPED } from "@flow-state-dev/core";
import { z } from "zod";
import { z as z4 } from "zod/v4";

const asking = (name: string, options: (input: any) => any) =>
  handler({
    name,
    execute: async (input: any, ctx) => {
      const answer: any = await ctx.suspend({ message: name, ...options(input) } as any);
      return answer === SUSPENSION_SKIPPED ? "skipped" : { answer };
    },
  });
const say = (text: string) => handler({ name: text, execute: async (input, ctx) => { await ctx.session.pushState("log", text); return input; } });
const caught = handler({ name: "caught", execute: (error: any) => ({ name: error.name, message: error.message, id: error.suspensionId, by: error.rejectedBy, data: error.rejectionData }) });
const chain = (name: string) => sequencer({ name, inputSchema: z.any() });
const wrong = (name: string, options: any) => handler({ name, execute: async (_input, ctx) => { try { return await ctx.suspend(options); } catch (error: any) { return `${error.name}: ${error.message}`; } } });

const every = ["approve", "reject", "submit", "skip"];
const gate = asking("gate", () => ({ reason: "approval", allow: every }));
const other = asking("other", () => ({ reason: "approval", allow: every }));
const soon = asking("soon", (ms) => ({ reason: "approval", timeoutMs: ms }));
const later = handler({
  name: "later",
  execute: async (_input, ctx) => {
    await ctx.session.patchState({ draft: "written" } as any);
    await ctx.session.appendJournal({ text: "asked" });
    ctx.emit.message("waiting");
    const answer = await ctx.suspend({ reason: "approval" } as any);
    return { answer: answer ?? null };
  },
});

export default defineFlow({
  kind: "suspension-answers",
  session: { stateSchema: z.object({ log: z.array(z.string()).default([]), draft: z.string().default("") }) },
  actions: {
    plain: { block: asking("plain", () => ({ reason: "anything" })) },
    input: { block: asking("input", () => ({ reason: "human_input" })) },
    schema: { block: asking("schema", () => ({ reason: "data", resumeSchema: z.object({ n: z.number().int(), unit: z.string().default("kg"), tag: z.string().transform((text) => text.toUpperCase()).optional() }) })) },
    four: { block: asking("four", () => ({ reason: "data", resumeSchema: z4.object({ n: z4.number().int(), unit: z4.string().default("kg") }) })) },
    json: { block: asking("json", () => ({ reason: "data", resumeSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } })) },
    refined: { block: asking("refined", () => ({ reason: "data", resumeSchema: z.object({ n: z.number().refine((n) => n % 2 === 0, "must be even") }) })) },
    nullable: { block: asking("nullable", () => ({ reason: "human_approval", resumeSchema: z.object({ note: z.string() }).nullable() })) },
    optional: { block: asking("optional", () => ({ reason: "human_approval", allow: ["approve", "reject"], resumeSchema: z.object({ note: z.string() }).optional() })) },
    only: { block: asking("only", () => ({ reason: "approval", allow: ["skip"] })) },
    gate: { block: chain("gates").step(say("before")).step(gate).step(say("after")) },
    rescued: { block: chain("rescued").step(gate.rescue([{ block: caught }])) },
    soon: { block: chain("sooner").step(soon) },
    soonRescued: { block: chain("soonRescued").step(soon.rescue([{ block: caught }])) },
    two: { block: chain("two").parallel({ gate, other, plain: say("plain") }) },
    late: { block: chain("late").parallel({ soon, other }) },
    later: { block: later },
    catches: { block: chain("catches").step(handler({ name: "twice", execute: async (_input, ctx) => { let first; try { first = await ctx.suspend({ reason: "a", message: "first" }); } catch (error: any) { first = error.name; } return [first, (await ctx.suspend({ reason: "b", message: "second" })) ?? "yes"]; } })) },
    wrong: { block: chain("wrongs").parallel({ reason: wrong("reason", {}), allow: wrong("allow", { reason: "x", allow: ["maybe"] }), timeout: wrong("timeout", { reason: "x", timeoutMs: -1 }), schema: wrong("schema", { reason: "x", resumeSchema: 3 }) }) },
  },
});
