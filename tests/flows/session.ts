/**
 * Sessions, and who and where a run is: identities, journal, metadata, and looking values up from narrow to broad.
 */

import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const does = (name: string, execute: (input: any, ctx: any) => unknown) => handler({ name, execute: async (input, ctx) => execute(input, ctx) });

const identities = (_input: unknown, ctx: any) => ({
  request: ctx.request.identity,
  session: ctx.session.identity,
  user: ctx.user.identity,
  project: ctx.project?.identity ?? "none",
  org: ctx.org?.identity ?? "none",
});

export default defineFlow({
  kind: "session",
  request: { stateSchema: z.object({ modelOverride: z.string().optional() }) },
  session: { stateSchema: z.object({ currentModel: z.string().optional(), n: z.number().default(0) }) },
  user: { stateSchema: z.object({ preferences: z.object({ preferredModel: z.string().optional() }).default({}), n: z.number().default(0) }) },
  project: { stateSchema: z.object({ config: z.object({ defaultModel: z.string().optional() }).default({}), n: z.number().default(0) }) },
  actions: {
    identities: { block: does("identities", identities) },
    runtime: { block: does("runtime", (_input, ctx) => ({ request: ctx.requestRuntime.requestId === ctx.request.identity.id, action: ctx.requestRuntime.actionName, attempt: ctx.attempt, key: ctx.idempotencyKey.split(":")[1] })) },
    note: {
      block: does("note", async (input, ctx) => {
        const entry: any = await ctx.session.appendJournal(input);
        return { id: entry?.id?.startsWith("journal_") === true, ts: typeof entry?.ts, text: entry?.text };
      }),
    },
    notes: { block: does("notes", async (query, ctx) => (await ctx.session.getJournal(query)).map((entry: any) => entry.text)) },
    noteAndFail: { block: does("noteAndFail", async (_input, ctx) => { await ctx.session.appendJournal({ text: "before failing" }); throw new Error("no"); }) },
    badNote: { block: does("badNote", (_input, ctx) => ctx.session.appendJournal({ tags: ["no text"] })) },
    describe: { block: does("describe", async (input, ctx) => { await ctx.session.setMetadata(input); return ctx.session.metadata; }) },
    described: { block: does("described", (_input, ctx) => ctx.session.metadata) },
    resolve: {
      block: sequencer({ name: "resolve", inputSchema: z.any() })
        .tap(does("override", async (input, ctx) => { if (input?.model) await ctx.request.patchState({ modelOverride: input.model }); }))
        .step(does("resolves", (_input, ctx) =>
          ctx.request.state.modelOverride ??
          ctx.session.state.currentModel ??
          ctx.user.state.preferences.preferredModel ??
          ctx.project?.state.config.defaultModel ??
          "gpt-5-mini")),
    },
    prefer: {
      block: does("prefer", async ({ where, model }, ctx) => {
        if (where === "session") await ctx.session.patchState({ currentModel: model });
        if (where === "user") await ctx.user.patchState({ preferences: { preferredModel: model } });
        if (where === "project") await ctx.project.patchState({ config: { defaultModel: model } });
      }),
    },
    count: { block: does("count", async (_input, ctx) => { await ctx.session.incState({ n: 1 }); await ctx.user.incState({ n: 1 }); await ctx.project?.incState({ n: 1 }); return { session: ctx.session.state.n, user: ctx.user.state.n, project: ctx.project?.state.n ?? "none" }; }) },
    ephemeral: { block: does("ephemeral", async (_input, ctx) => { await ctx.session.incState({ n: 1 }); await ctx.session.appendJournal({ text: "once" }); return { id: ctx.session.identity.id.replace(/\d{6,}/, "MS").replace(/[0-9a-f]{6,}$/, "HEX"), n: ctx.session.state.n, notes: (await ctx.session.getJournal()).length }; }) },
    mumbles: { block: does("mumbles", (input, ctx) => { ctx.emit.message("heard"); return input; }), userMessage: (input: any) => input.said },
    greets: { block: does("greets", (input, ctx) => { ctx.emit.message(`Hello ${input.name}`); }), userMessage: (input: any) => `I am ${input.name}` },
  },
});
