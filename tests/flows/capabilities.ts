/**
 * Capabilities: what several blocks share, given by name.
 */

import { defineCapability, defineFlow, defineResource, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const tally = defineCapability({
  name: "tally",
  sessionStateSchema: z.object({ tally: z.number().default(0) }),
  fns: (ctx: any) => ({ add: async (n: number) => { await ctx.session.incState({ tally: n }); return ctx.session.state.tally; } }),
});
const look = handler({ name: "look", description: "Looks", execute: () => "seen" });
const sight = defineCapability({ name: "sight", context: "You can see.", tools: [look] });

const counts = handler({ name: "counts", uses: [tally], execute: (n: number, ctx: any) => ctx.cap.tally.add(n) });

const reads = handler({ name: "reads", execute: (_input, ctx: any) => Object.keys(ctx.cap).map((name) => `${name}:${ctx.cap[name].whose}`).join() });
const whose = (name: string, by: string) => defineCapability({ name, fns: () => ({ whose: by }) });
const made: string[] = [];
const counted = defineCapability({ name: "counted", fns: (ctx: any) => { made.push(ctx.attempt); return { times: () => made.length }; } });
const own = defineCapability({ name: "own", stateSchema: z.object({ second: z.number().default(2) }) });
const pick = handler({ name: "pick", description: "Picks", execute: () => "picked" });
const closer = defineCapability({ name: "closer", context: (input: string) => `Closer to ${input}.`, tools: [pick] });
const modelled = (name: string) => defineCapability({ name, model: name, fns: () => ({}) });

const kept = (field: string) => defineResource({ ref: field, stateSchema: z.object({ n: z.number().default(0) }) });
const mine = kept("mine");
const placed = defineCapability({ name: "placed", sessionResources: { own: kept("own") }, userResources: { mine }, fns: (ctx: any) => ({ note: async () => { await ctx.session.resources.own.incState({ n: 1 }); await ctx.user.resources.mine.incState({ n: 10 }); return ctx.session.resources.own.state.n + ctx.user.resources.mine.state.n; } }) });
const placedAgain = defineCapability({ name: "placedAgain", userResources: { mine }, fns: (ctx: any) => ({ read: () => ctx.user.resources.mine.state.n }) });
const valued = defineCapability({ name: "valued", config: { schema: z.object({ n: z.number().default(1) }), resolve: ({ n }: any) => ({ context: `Value ${n}.` }) } });

const skills = defineCapability({
  name: "skills",
  fns: () => ({ known: () => "skills" }),
  presets: {
    basics: { context: "Basics." },
    extra: { context: "Extra.", tools: [pick], sessionStateSchema: z.object({ extra: z.number().default(3) }) },
    default: ["basics"],
  },
  config: {
    schema: z.object({ allowed: z.array(z.string()).default([]) }).default({}),
    resolve: ({ allowed }: any, ctx: any) => (allowed.length > 0 ? { context: `${ctx.presets.has("extra") ? "Also" : "Only"} ${allowed.join()}.` } : {}),
  },
});
const helper = defineCapability({ name: "helper", uses: [skills], fns: (ctx: any) => ({ ask: () => `${ctx.cap.skills.known()} by helper` }) });
const other = defineCapability({ name: "other", uses: [skills.presets({})] });
const moody = defineCapability({ name: "moody", sessionStateSchema: z.object({ mood: z.boolean().default(true) }), uses: [(ctx: any) => (ctx.session.state.mood ? [closer] : [])] });
const onlyMain = defineCapability({ name: "onlyMain", agentType: "primary", context: "Main." });
const refused = (make: () => unknown) => { try { make(); return "fine"; } catch (error) { return (error as Error).message; } };
const ownTool = handler({ name: "ownTool", description: "Own", execute: () => "own" });
const mixed = defineCapability({ name: "mixed", presets: { both: { tools: [look], controlTools: [pick] }, default: ["both"] } });
const fenced = (name: string, more: object) => ({ block: generator({ name, model: "tiny", prompt: "Go.", describeTools: false, uses: [mixed], ...more }) });
const asked = (name: string, uses: any[], more = {}) => ({ block: generator({ name, model: "tiny", prompt: "Go.", uses, ...more }) });

export default defineFlow({
  kind: "capabilities",
  actions: {
    olderPlaces: { block: sequencer({ name: "olderPlaces", inputSchema: z.any() }).step(handler({ name: "places", uses: [placed, placedAgain], execute: async (_input, ctx: any) => [await ctx.cap.placed.note(), await ctx.cap.placed.note(), await ctx.cap.placedAgain.read()] })) },
    sameValue: asked("sameValue", [valued.config({}), valued.config({ n: 1 })]),
    presetsAsTheyAre: asked("presetsAsTheyAre", [skills]),
    presetsChosen: asked("presetsChosen", [skills.presets({ basics: false, extra: true })]),
    presetChanged: asked("presetChanged", [skills.presets({ basics: (preset: any) => ({ context: `${preset.context} More.` }) })]),
    configured: asked("configured", [skills.config({ allowed: ["a", "b"] })]),
    together: asked("together", [skills.with({ allowed: ["a"], extra: true })]),
    needed: { block: handler({ name: "needed", uses: [defineCapability({ name: "plainHelper", uses: [tally], fns: (ctx: any) => ({ twice: async () => { await ctx.cap.tally.add(1); return ctx.cap.tally.add(1); } }) })], execute: (_input, ctx: any) => ctx.cap.plainHelper.twice() }) },
    diamond: asked("diamond", [helper, other]),
    moody: asked("moody", [moody]),
    forOthers: asked("forOthers", [onlyMain], { agentType: "sub" }),
    mistakes: { block: handler({ name: "mistakes", execute: () => [
      refused(() => handler({ name: "x", uses: [skills], execute: () => 1 })),
      refused(() => generator({ name: "x", model: "m", prompt: "p", uses: [skills.presets({ none: true } as any)] })),
      refused(() => generator({ name: "x", model: "m", prompt: "p", uses: [skills.config({ allowed: 1 } as any)] })),
      refused(() => (skills as any).with({ exta: true })),
      refused(() => generator({ name: "x", model: "m", prompt: "p", uses: [skills.config({ allowed: ["a"] }), skills.config({ allowed: ["b"] })] })),
      refused(() => generator({ name: "x", model: "m", prompt: "p", uses: [defineCapability({ name: "strict", config: { schema: z.object({ n: z.number() }), resolve: () => ({}) } })] })),
      refused(() => generator({ name: "x", model: "m", prompt: "p", uses: [tally, defineCapability({ name: "tally" })] })),
      refused(() => defineCapability({ name: "both", presets: { n: {} }, config: { schema: z.object({ n: z.number() }), resolve: () => ({}) } })),
    ] }) },
    functions: { block: sequencer({ name: "outer", inputSchema: z.any() }).step(counts).step(counts) },
    absent: { block: handler({ name: "absent", execute: (_input, ctx: any) => typeof ctx.cap?.tally }) },
    controls: { block: generator({ name: "controls", model: "tiny", prompt: "Look.", uses: [defineCapability({ name: "both", tools: async () => [look], controlTools: async () => [pick] })] }) },
    narrow: fenced("narrow", { tools: [ownTool] }),
    named: fenced("named", { tools: [look] }),
    empty: fenced("empty", { tools: [] }),
    made: fenced("made", { tools: () => [ownTool] }),
    later: fenced("later", { tools: [], uses: [() => [mixed]] }),
    open: fenced("open", {}),
    sees: { block: generator({ name: "sees", model: "tiny", prompt: "Look.", uses: [sight] }) },
    inherited: { block: sequencer({ name: "around", inputSchema: z.any(), uses: [whose("a", "around")] })
      .step(sequencer({ name: "inside", uses: [whose("a", "inside"), whose("b", "inside")] }).step(reads)) },
    once: { block: handler({ name: "once", uses: [counted], execute: (_input, ctx: any) => [ctx.cap.counted.times(), ctx.cap.counted.times(), ctx.cap.counted === ctx.cap.counted] }) },
    state: { block: handler({ name: "state", stateSchema: z.object({ first: z.number().default(1) }), uses: [own], execute: (_input, ctx: any) => ctx.self.state }) },
    chosen: { block: generator({ name: "chosen", model: "tiny", prompt: "Look.", uses: [(ctx: any) => (ctx.session.state.near ? [] : [closer])] }) },
    model: { block: generator({ name: "model", prompt: "Which?", uses: [modelled("first"), modelled("last")] }) },
    tooMuch: { block: generator({ name: "tooMuch", model: "tiny", prompt: "Look.", uses: [() => [modelled("late")]] }) },
  },
});
