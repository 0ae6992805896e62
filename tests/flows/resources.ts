/**
 * Resources: named containers with a state and a content, alone and in collections.
 */

import { defineFlow, defineResource, defineResourceCollection, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const plan = defineResource({ scope: "session", stateSchema: z.object({ steps: z.array(z.string()).default([]), done: z.number().default(0) }) });
const fixed = defineResource({ scope: "user", stateSchema: z.object({ n: z.number().default(3) }), writable: false });
const page = defineResource({ scope: "session", stateSchema: z.object({ title: z.string().default("Untitled") }), content: "# Hello", render: (content: string, state: any) => `${state.title}: ${content}` });
const heard: string[] = [];
const hooked = defineResourceCollection({
  pattern: "hooked/**",
  scope: "session",
  stateSchema: z.object({ n: z.number().default(0) }),
  onInstanceCreated: (key) => { heard.push(`created ${key}`); },
  onInstanceUpdated: (key) => { heard.push(`updated ${key}`); },
  onInstanceDeleted: (key) => { heard.push(`deleted ${key}`); },
});
const files = defineResourceCollection({ pattern: "files/*", scope: "project", stateSchema: z.object({ text: z.string().default(""), size: z.number().default(0) }), maxInstances: 3 });

const caught = async (act: () => unknown) => {
  try {
    await act();
    return "nothing was thrown";
  } catch (error: any) {
    return `${error.name}: ${error.message}`;
  }
};
const uses = (name: string, resources: any, execute: (ctx: any, input: any) => unknown) => handler({ name, resources, execute: async (input, ctx) => execute(ctx, input) });
const held = (name: string) => handler({ name, resources: { [name]: defineResource({ scope: "session", stateSchema: z.object({ n: z.number().default(0) }) }) }, execute: async (value, ctx) => { await ctx.resources[name]!.patchState({ n: 1 }); return value; } });

const inMade = held("inMade");

const everywhere = sequencer({ name: "everywhere", inputSchema: z.any() })
  .step(held("inStep"))
  .stepIf(() => true, held("inStepIf"))
  .tap(held("inTap"))
  .tapIf(() => true, held("inTapIf"))
  .work(held("inWork"))
  .tap(sequencer({ name: "nested", inputSchema: z.any() }).parallel({ a: held("inParallel") }))
  .tap(() => [1], sequencer({ name: "each", inputSchema: z.any() }).forEach(held("inForEach")))
  .doUntil(() => true, held("inDoUntil"))
  .doWhile(() => false, held("inDoWhile"))
  .branch({ only: [(value) => value, () => true, held("inBranch")] })
  .rescue([{ block: held("inRescue") }]);

export default defineFlow({
  kind: "resources",
  resources: { plan, files },
  actions: {
    write: {
      block: uses("write", {}, async (ctx) => {
        const before = ctx.resources.plan.state;
        await ctx.resources.plan.patchState({ steps: ["a"] });
        await ctx.resources.plan.updateState((state: any) => ({ ...state, done: state.done + 1 }));
        return { before, after: ctx.resources.plan.state, same: ctx.resources.get("plan").state.done, scope: ctx.resources.plan.scope, names: ctx.resources.list().includes("plan") };
      }),
    },
    read: { block: uses("read", {}, (ctx) => ctx.resources.plan.state) },
    set: { block: uses("set", {}, async (ctx) => { await ctx.resources.plan.setState({ steps: ["z"], done: 9 }); }) },
    invalid: { block: uses("invalid", {}, async (ctx) => ({ error: (await caught(() => ctx.resources.plan.patchState({ done: "many" }))).split(":")[0], state: ctx.resources.plan.state })) },
    readOnly: { block: uses("readOnly", { fixed }, async (ctx) => ({ n: ctx.resources.fixed.state.n, error: await caught(() => ctx.resources.fixed.patchState({ n: 4 })) })) },
    content: { block: uses("content", { page }, async (ctx) => { const first = await ctx.resources.page.readContent(); await ctx.resources.page.writeContent("# Bye"); await ctx.resources.page.patchState({ title: "T" }); return [first, await ctx.resources.page.readContent(), await ctx.resources.page.readContentRaw()]; }) },
    unknown: { block: uses("unknown", {}, (ctx) => caught(() => ctx.resources.get("missing"))) },
    files: {
      block: uses("files", {}, async (ctx) => {
        const all = ctx.resources.files;
        await all.create("a", { text: "A" });
        const twice = await caught(() => all.create("a", { text: "again" }));
        const made = (await all.getOrCreate("b", { text: "B" })).state.text;
        await all.upsert("a", { size: 1 });
        await all.upsert("c", { size: 2 }, { text: "C" });
        const over = await caught(() => all.create("d", {}));
        const missing = await caught(() => all.get("nobody"));
        const optional = await all.getOptional("nobody");
        await all.delete("b");
        await all.delete("b");
        return { twice: twice !== "nothing was thrown", made, over: over !== "nothing was thrown", missing: missing !== "nothing was thrown", optional: optional ?? "none", count: await all.count(), a: (await all.get("a")).state, c: (await all.get("c")).state };
      }),
    },
    keys: {
      block: uses("keys", { hooked }, async (ctx) => {
        heard.length = 0;
        const all = ctx.resources.hooked;
        const paths = [];
        for (const key of ["/lead", "a//b", "c\\d"]) paths.push((await all.create(key, {})).path);
        await all.upsert("lead", { n: 1 });
        await all.delete("lead");
        const bad = [];
        for (const key of ["", "//", "a/../b", "n\u0000x"]) bad.push(await caught(() => all.getOptional(key)));
        const [none, deep] = [await ctx.resources.files.getOptional("a/b"), await caught(() => ctx.resources.files.get("a/b"))];
        return { paths, heard, bad, none: none ?? "none", deep };
      }),
    },
    filesRead: { block: uses("filesRead", {}, async (ctx) => [await ctx.resources.files.count(), (await ctx.resources.files.get("a")).state.text]) },
    bubbling: { block: handler({ name: "bubbling", execute: () => Object.keys((everywhere as any).declaredResources ?? {}).sort() }) },
    bubblingNone: { block: handler({ name: "bubblingNone", execute: () => typeof (sequencer({ name: "bare" }).step(handler({ name: "plain", execute: () => 1 })) as any).declaredResources }) },
    everywhere: { block: everywhere },
    made: { block: sequencer({ name: "made", inputSchema: z.any() }).forEach(() => [1, 2], (n: number) => sequencer({ name: `made-${n}`, inputSchema: z.any() }).step(inMade), { blocks: [inMade] }).map((_all, ctx: any) => ctx.resources.inMade.state.n) },
    fanOut: { block: sequencer({ name: "fanOut", inputSchema: z.any() }).forEach(uses("adds", {}, async (ctx, key) => { await ctx.resources.plan.updateState((state: any) => ({ ...state, done: state.done + 1, steps: [...state.steps, key] })); })).map((_all, ctx: any) => ctx.resources.plan.state.done) },
  },
});
