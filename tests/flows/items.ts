/**
 * Items: what blocks emit, who sees it, and how it lives.
 */

import { defineFlow, FlowError, generator, handler, resolveItemVisibility, router, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const emits = (name: string, execute: (ctx: any, input: any) => unknown) => handler({ name, execute: async (input, ctx) => execute(ctx, input) });
const speaker = (name: string, more: object) => generator({ name, model: "tiny", prompt: "Speak.", ...more });
const look = handler({ name: "look", description: "Looks something up", inputSchema: z.object({ q: z.string() }), execute: ({ q }) => ({ found: q }) });
const idle = handler({ name: "idle", execute: () => "idle" });

/** What a running request sees of its own writes. */
const scopes = (ctx: any) => ctx.session.items.all({ itemTypes: ["state_change", "state_snapshot"], includeTransient: true }).map((item: any) => item.scope ?? item.state);

/** It answers while the file loads, too. */
const atLoad = resolveItemVisibility({ type: "message", agentType: "sub" });

export default defineFlow({
  kind: "items",
  session: { stateSchema: z.object({ n: z.number().default(0) }) },
  actions: {
    every: {
      block: sequencer({ name: "every", container: { component: "panel", label: "All of them" }, stateSchema: z.object({ n: z.number().default(0) }) })
        .tap(emits("emitter", async (ctx) => {
          ctx.emitMessage("text");
          ctx.emitComponent("card", { rows: 2 });
          ctx.emitStatus("working");
          await ctx.session.incState({ n: 1 });
        }))
        .tap(router({ name: "chooser", routes: [idle], execute: () => idle }))
        .work(handler({ name: "breaks", execute: () => { throw new FlowError("beside", { code: "beside" }); } }))
        .waitForWork(),
    },
    fails: { block: handler({ name: "fails", execute: () => { throw new FlowError("the end", { code: "the_end", details: { why: "test" } }); } }) },
    says: { block: emits("says", (ctx, options) => { ctx.emit.message("said", options); ctx.emit.component("card", { a: 1 }, options); }) },
    visibility: { block: handler({ name: "visibility", execute: () => [atLoad, resolveItemVisibility({ type: "message", agentType: "trace" }), resolveItemVisibility({ type: "message", agentType: "sub", itemVisibility: { client: false, history: true } }), resolveItemVisibility({ type: "block_output" }), resolveItemVisibility({ type: "status" })] }) },
    ofWrites: {
      block: sequencer({ name: "ofWrites", stateSchema: z.object({ c: z.number().default(0) }) })
        .step(emits("writes", async (ctx) => {
          await ctx.sequencer.incState({ c: 1 });
          await ctx.session.incState({ n: 1 });
          await ctx.request.patchState({ a: 1 });
          return scopes(ctx);
        }))
        .map((before: any, ctx: any) => ({ before, after: scopes(ctx) })),
    },
    untouched: { block: sequencer({ name: "untouched", stateSchema: z.object({ c: z.number().default(0) }) }).step(idle) },
    ofFunction: {
      block: sequencer({ name: "ofFunction", stateSchema: z.object({ c: z.number().default(0) }) })
        .step(idle)
        .map(async (value: unknown, ctx: any) => { await ctx.sequencer.incState({ c: 1 }); return value; })
        .tap(idle),
    },
    added: { block: emits("added", (ctx) => {
      const open = ctx.emit.message("Starting");
      open.appendDelta(" ... ").appendDelta("found 3");
      open.done();
      const parts = ctx.emitMessage([{ type: "output_audio", audio: "b64" }]);
      parts.appendDelta("heard").addContent({ type: "reasoning_text", text: "why" });
      ctx.emit.message("keyed", { key: "k" }).appendDelta("!");
      const refused = [() => open.appendDelta(1), () => open.addContent({ type: "other" }), () => open.update("x")].map((act) => { try { return act(); } catch (error: any) { return error.message; } });
      return refused;
    }) },
    halves: { block: emits("halves", (ctx) => {
      // The units of a text one by one, so that each emoji comes in two pieces.
      const units = (text: string, options?: any) => { const open = ctx.emit.message("", options); for (const unit of text.split("")) open.appendDelta(unit); return open; };
      units("a😀b👍");
      units("k😀", { key: "k" });
      ctx.emit.message("\ud83d").appendDelta("\ude00!").appendDelta("?");
      units("cut \ud83d").done();
      units("x\ud83d").addContent({ type: "output_text", text: "y" }).appendDelta("z");
      units("\ude00\ud83d.");
    }) },
    parts: { block: emits("parts", (ctx) => { ctx.emit.message([{ type: "output_text", text: "one " }, { type: "output_text", text: "two" }]); }) },
    keyed: {
      block: sequencer({ name: "keyed" })
        .tap(emits("first", (ctx) => { ctx.emit.component("chart", { v: 1 }, { key: "k" }); ctx.emit.component("table", { v: 9 }, { key: "k" }); ctx.emit.component("chart", { v: 5 }); }))
        .tap(emits("second", (ctx) => { ctx.emit.component("chart", { v: 2, more: true }, { key: "k" }); ctx.emit.component("chart", { v: 6 }); })),
    },
    transient: { block: emits("fleeting", (ctx) => { ctx.emit.message("now or never", { transient: true }); ctx.emit.component("spinner", {}, { transient: true }); ctx.emit.message("stays"); }) },
    transientBlock: { block: sequencer({ name: "outer" }).step(handler({ name: "quiet", transient: true, execute: (_input, ctx) => { ctx.emit.message("explicit"); return 1; } })) },
    status: {
      block: emits("status", (ctx) => {
        ctx.emit.status("reading");
        ctx.emit.status("reading");
        ctx.emit.status("reading", { blocked: true });
        ctx.emit.status("writing", { blocked: true });
        ctx.emit.status(undefined, { blocked: false });
        ctx.emit.status("");
        ctx.emit.status("");
      }),
    },
    activeStatus: {
      block: sequencer({ name: "outer" })
        .step(handler({ name: "fixed", activeStatusMessage: "thinking", execute: () => 3 }))
        .step(handler({ name: "made", activeStatusMessage: (input: number, ctx: any) => `thinking of ${input} in ${ctx.request.identity.type}`, execute: () => 4 }))
        .step(handler({ name: "again", activeStatusMessage: "thinking of 3 in request", execute: () => 5 })),
    },
    statusKept: { block: emits("statusKept", (ctx) => { ctx.emit.status("for the record", { transient: false }); }) },
    seen: {
      block: emits("seen", async (ctx) => {
        ctx.emit.message("one");
        ctx.emit.message("two", { agentType: "sub" });
        ctx.emit.message("three", { agentType: "trace" });
        ctx.emit.status("working");
        const types = (list: any[]) => list.map((item) => item.type);
        return { all: types(ctx.session.items.all({ itemTypes: ["message", "status"] })), transient: types(ctx.session.items.all({ includeTransient: true, itemTypes: ["message", "status"] })), client: types(ctx.session.items.client({ itemTypes: ["message"] })), history: ctx.session.items.history() };
      }),
    },
    primary: { block: speaker("primary", { agentType: "primary" }) },
    sub: { block: speaker("sub", { agentType: "sub" }) },
    trace: { block: speaker("trace", { agentType: "trace" }) },
    unset: { block: speaker("unset", {}) },
    named: { block: speaker("named", { agentType: "primary", agentName: "narrator" }) },
    secretNotes: { block: speaker("secretNotes", { itemVisibility: { client: false, history: true } }) },
    toolUser: { block: speaker("toolUser", { agentType: "sub", tools: [look], user: () => "Look" }) },
    structured: { block: speaker("structured", { agentType: "primary", outputSchema: z.object({ a: z.number() }) }) },
    order: { block: sequencer({ name: "order" }).forEach(emits("each", (ctx, n) => { ctx.emit.message(`item ${n}`); })) , inputSchema: z.any() },
    lost: { block: sequencer({ name: "lost" }).tap(emits("kept", (ctx) => { ctx.emit.message("kept"); })).step(emits("fails", (ctx) => { ctx.emit.message("said before failing"); throw new Error("then it failed"); })) },
  },
});
