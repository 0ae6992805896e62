/**
 * Generators: what the model is asked, what its answer becomes, its tools, its limits and its repairs.
 */

import { defineFlow, FlowError, generator, handler, resource, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));
const bot = (name: string, more: object = {}) => generator({ name, model: "tiny", prompt: "Answer.", ...more });

const add = handler({ name: "add", description: "Adds two numbers", inputSchema: z.object({ a: z.number(), b: z.number() }), execute: async ({ a, b }, ctx) => { await ctx.session.incState({ calls: 1 }); return { sum: a + b }; } });
const slow = handler({ name: "slow", inputSchema: z.object({ ms: z.number() }), execute: async ({ ms }, ctx) => { await pause(ms); await ctx.session.pushState("order", ms); return ms; } });
const broken = handler({ name: "broken", description: "Breaks", execute: () => { throw new FlowError("the tool broke", { code: "tool_broke" }); } });
const answer = z.object({ city: z.string(), people: z.number() });
const mender = { modelId: "mender", generate: async () => ({ text: '{"city":"Rome","people":4}' }) };
const named = (name: string) => handler({ name, execute: () => name });
const dotted = named("foo.bar"), slashed = named("foo/bar");
const place = handler({ name: "place", description: "Finds a place", execute: () => ({ lat: 1, lon: 2 }) }).mapModelOutput((output: any) => `at ${output.lat}, ${output.lon}`);
const helper = bot("helper", { user: (input: any) => input.topic, inputSchema: z.object({ topic: z.string() }), description: "Helps" });

export default defineFlow({
  kind: "generators",
  session: { stateSchema: z.object({ calls: z.number().default(0), order: z.array(z.number()).default([]), stage: z.string().default("start") }) },
  actions: {
    plain: { block: bot("plain") },
    prompts: { block: bot("prompts", { prompt: ["First.", () => null, async (input: any, ctx: any) => `Second for ${input.who} in ${ctx.user.identity.type}.`], user: "Hello" }) },
    contexts: {
      block: bot("contexts", {
        context: [
          "A string of its own.",
          { aboutUser: "Ada", facts: ["one", "two"], nested: { deepPart: (input: any) => input.who }, nothing: null },
          { role: "user", content: "An example question" },
          (_input: unknown, ctx: any) => `Stage ${ctx.session.state.stage}`,
        ],
        user: (input: any) => [{ role: "user", content: input.who }],
      }),
    },
    contextLater: { block: bot("contextLater", { context: () => ({ late: () => "Found.", deep: { who: async (input: any) => `For ${input.who}.` } }), user: "u" }) },
    contextNames: { block: bot("contextNames", { context: [resource("notes/today", { optional: true })], user: "u" }) },
    userParts: { block: bot("userParts", { user: ["First.", (input: any) => `From ${input.who}.`, () => undefined, async () => [{ role: "user", content: "Last." }]] }) },
    historyParts: { block: bot("historyParts", { history: [{ role: "assistant", content: "Before." }, (input: any) => `From ${input.who}.`, null, async () => [{ role: "user", content: "Last." }]], user: "Last." }) },
    promptNull: { block: bot("promptNull", { prompt: null, user: () => "just me" }) },
    models: { block: bot("models", { model: (input: any) => input.model }) },
    noModel: { block: bot("noModel") },
    tools: { block: bot("tools", { tools: [add, broken], user: "Go" }) },
    toolsTogether: { block: bot("toolsTogether", { tools: [slow] }) },
    toolNames: { block: bot("toolNames", { tools: [named("foo.bar"), named("foo/bar"), named("foo_baz")] }) },
    toolGone: { block: bot("toolGone", { tools: (_input: unknown, ctx: any) => (ctx.session.state.calls > 0 ? [add] : [dotted, slashed, add]) }) },
    toolsMade: { block: bot("toolsMade", { tools: (input: any) => (input.may ? [add, add] : []) }) },
    toolMapped: { block: bot("toolMapped", { tools: [place] }) },
    toolIsGenerator: { block: bot("toolIsGenerator", { tools: [helper], agentType: "primary" }) },
    toolIsChain: { block: bot("toolIsChain", { tools: [sequencer({ name: "sums", description: "Sums", inputSchema: z.object({ a: z.number(), b: z.number() }) }).step(add).map((out) => out.sum)] }) },
    limited: { block: bot("limited", { tools: [add], maxIterations: 2 }) },
    forever: { block: bot("forever", { tools: [add] }) },
    noTools: { block: bot("noTools", { tools: [add], loop: { runTools: false }, outputSchema: answer }) },
    stopWhen: { block: bot("stopWhen", { tools: [add], loop: { stopWhen: ({ stepNumber }: any) => stepNumber >= 1 } }) },
    structured: { block: bot("structured", { outputSchema: answer, user: "Where?" }) },
    kinds: { block: bot("kinds", { outputSchema: z.enum(["question", "order"]) }) },
    repairOff: { block: bot("repairOff", { outputSchema: answer, repair: { mode: "fail" } }) },
    coerceOff: { block: bot("coerceOff", { outputSchema: answer, repair: { coerce: false } }) },
    coerceOther: { block: bot("coerceOther", { outputSchema: answer, repair: { coerce: { model: "repairer" } } }) },
    coerceModel: { block: bot("coerceModel", { outputSchema: answer, repair: { coerce: { model: mender } } }) },
    coerceChosen: { block: bot("coerceChosen", { outputSchema: answer, repair: { coerce: { model: (input: any, ctx: any) => (input.own ? mender : `${input.model}-${ctx.session.state.stage}`) } } }) },
    coerceThrows: { block: bot("coerceThrows", { outputSchema: answer, repair: { coerce: { model: () => { throw new Error("no model"); } } } }) },
    hasty: { block: bot("hasty", { tools: [handler({ name: "hasty-tool", timeoutMs: 10, execute: async () => { await pause(400); } })] }) },
    repairTold: { block: bot("repairTold", { outputSchema: z.object({ told: z.string() }), context: { about: "Ada" }, history: () => [{ role: "user", content: "Before." }], user: "Now.", repairOutput: (_candidate: any, _error: Error, { iteration, input, model, prompt, messages, toolResults, lastCandidate }: any) => ({ told: [iteration, input.who, model, prompt, messages.length, messages[1].role, messages[1].content, toolResults.length, lastCandidate.town].join(" ") }) }) },
    repairOwn: { block: bot("repairOwn", { outputSchema: answer, repairOutput: (candidate: any) => ({ city: candidate.town, people: 1 }) }) },
    repairRescued: { block: bot("repairRescued", { outputSchema: answer, repair: { mode: "rescue" } }).rescue([{ block: handler({ name: "default", execute: (error: any) => ({ name: error.name, phase: error.details?.phase, raw: error.details?.rawOutput }) }) }]) },
    completed: { block: sequencer({ name: "outer" }).step(bot("completed", { onCompleted: async (output: any, ctx: any, meta: any) => { await ctx.session.patchState({ stage: `${output} by ${meta?.model?.requested ?? meta?.model?.actual}` }); } })).map((_out, ctx) => ctx.session.state.stage) },
    flowTools: { block: sequencer({ name: "outer" }).step(bot("flowTools", { tools: [slow] })) },
    usage: { block: sequencer({ name: "outer" }).step(bot("usage", { tools: [add] })).map((_out, ctx) => ({ ...ctx.request.tokenUsage, remaining: ctx.request.tokenUsage.remaining === Infinity ? "unlimited" : "limited" })) },
    retried: { block: bot("retried", { retry: { maxAttempts: 3, baseDelayMs: 0 } }) },
    caught: { block: bot("caught").rescue([{ block: handler({ name: "excuse", execute: (error: any) => ({ name: error.name, code: error.code, retryable: error.retryable, message: error.message }) }) }]) },
    stages: {
      block: bot("stages", {
        prompt: (_input: unknown, ctx: any) => `Stage ${ctx.session.state.stage}`,
        tools: [handler({ name: "advance", execute: async (_input, ctx) => { await ctx.session.patchState({ stage: "next" }); } })],
      }),
    },
    nullable: { block: bot("nullable", { outputSchema: z.number().nullable() }) },
  },
});
