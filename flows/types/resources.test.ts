/**
 * Resources and capabilities: declared once, typed wherever a block reaches them.
 *
 * There is nothing to run; `npm run check` is the test. It is not a flow, because it has no default export.
 */

import {
  defineCapability,
  defineResource,
  defineResourceCollection,
  defineResourceNamespace,
  generator,
  handler,
  sequencer,
} from "@flow-state-dev/core";
import type { BlockContext, ResourceCollectionHandle, ResourceHandle } from "@flow-state-dev/core";
import { z } from "zod";
import { z as z4 } from "zod/v4";
import { typed } from "./expect.js";

const doc = defineResource({ scope: "session", stateSchema: z.object({ title: z.string() }), content: "# Draft" });
const files = defineResourceCollection({
  pattern: "files/*",
  scope: "user",
  stateSchema: z.object({ size: z.number() }),
});
const board = defineResource({ scope: "org", stateSchema: z4.object({ notes: z4.array(z4.string()) }) });

// By name, and by the scope they belong to.

handler({
  name: "resources",
  resources: { doc, files, board },
  execute: async (_input, ctx) => {
    typed(ctx.resources.doc).as<ResourceHandle<{ title: string }>>(true);
    typed(ctx.resources.get("doc").state.title).as<string>(true);
    typed(ctx.session.resources.doc.state.title).as<string>(true);
    typed(ctx.session.resources.get("doc").state.title).as<string>(true);
    typed(ctx.user.resources.get("files")).as<ResourceCollectionHandle<{ size: number }>>(true);
    typed(ctx.project?.resources.board.state.notes).as<string[] | undefined>(true);
    typed(ctx.org.resources.get("board").state.notes).as<string[]>(true);
    typed(ctx.session.resources.get("of-the-flow").state).as<any>(true);

    await ctx.resources.doc.writeContent("# Done");
    await ctx.resources.board.pushState("notes", "x");
    const file = await ctx.resources.files.upsert("a.txt", { size: 1 });
    typed(file.state.size).as<number>(true);
    typed(await ctx.resources.files.getOptional("b.txt")).as<ResourceHandle<{ size: number }> | undefined>(true);

    // @ts-expect-error A resource's state is typed, too.
    await ctx.resources.doc.patchState({ title: 1 });
    // @ts-expect-error A name that nobody declares.
    ctx.resources.dco;
    // @ts-expect-error The document belongs to the session.
    ctx.user.resources.doc;
    // @ts-expect-error A collection has entries, but no state of its own.
    ctx.resources.files.state;
    // @ts-expect-error An entry's fields are typed.
    await ctx.resources.files.create("c.txt", { length: 1 });
  },
});

// The older places: their name says the scope, and plain configurations will do.

handler({
  name: "older",
  sessionResources: { doc },
  userResources: { snippets: { stateSchema: z.object({ count: z.number() }), writable: true } },
  projectResources: { shelf: { pattern: "shelf/*", stateSchema: z4.object({ title: z4.string() }) } },
  execute: async (_input, ctx) => {
    typed(ctx.session.resources.get("doc").state.title).as<string>(true);
    typed(ctx.user.resources.get("snippets").state.count).as<number>(true);
    typed(ctx.resources.snippets.state.count).as<number>(true);
    typed((await ctx.project!.resources.shelf.get("x")).state.title).as<string>(true);
  },
});

// A block that declares none reaches those of its flow, about which nothing is known.

handler({
  name: "undeclared",
  execute: async (_input, ctx) => {
    await ctx.resources.anything.patchState({ a: 1 });
    await ctx.session.resources.get("notes").patchState({ a: 1 });
    await ctx.user.resources.get("files").create("a.txt");
    typed(ctx.resources.get<{ a: number }>("typed-by-hand").state.a).as<number>(true);
    typed(ctx.resources.list()).as<string[]>(true);
  },
});

// Definitions that make no sense.

defineResource({
  scope: "user",
  stateSchema: z.object({ a: z.number(), b: z.string() }),
  default: { a: 1 },
  render: (content, state) => content.replace("a", String(state.a)),
  client: { expose: ["a"] },
});
defineResourceNamespace({
  pattern: "[topic]/notes",
  scope: "project",
  stateSchema: z.object({ a: z.number() }),
  maxInstances: 3,
  eviction: "lru",
  onInstanceUpdated: (key, state, previous, ctx) => ctx.emitStatus(`${key}: ${previous.a} to ${state.a}`),
});
// An older form: the place that lists it says the scope.
defineResource({ stateSchema: z.object({ a: z.number() }) });
// @ts-expect-error A request is too short for a resource.
defineResource({ scope: "request", stateSchema: z.object({ a: z.number() }) });
// @ts-expect-error It starts with fields of its schema.
defineResource({ scope: "user", stateSchema: z.object({ a: z.number() }), default: { a: "1" } });
// @ts-expect-error Only declared fields can be exposed.
defineResource({ scope: "user", stateSchema: z.object({ a: z.number() }), client: { expose: ["b"] } });
// @ts-expect-error A client sees some fields or all but some, not both.
defineResource({ scope: "user", stateSchema: z.object({ a: z.number() }), client: { expose: ["a"], exclude: ["a"] } });
// @ts-expect-error A collection needs a pattern for its keys.
defineResourceCollection({ scope: "user", stateSchema: z.object({ a: z.number() }) });

// Capabilities: functions, state and resources of those that a block lists.

const tally = defineCapability({
  name: "tally",
  sessionStateSchema: z.object({ tally: z.number().default(0) }),
  resources: { board },
  fns: (ctx) => ({
    add: async (n: number) => {
      await ctx.session.incState({ tally: n });
      await ctx.resources.board.pushState("notes", String(n));
      return ctx.session.state.tally;
    },
  }),
});
const clock = defineCapability({ name: "clock", fns: (ctx) => ({ asked: () => ctx.attempt }) });
const sight = defineCapability({ name: "sight", context: "You can see.", tools: [], model: ["small", "large"] });

handler({
  name: "capable",
  uses: [tally, clock],
  sessionStateSchema: z.object({ n: z.number() }),
  execute: async (_input, ctx) => {
    typed(await ctx.cap.tally.add(1)).as<number>(true);
    typed(ctx.cap.clock.asked()).as<number>(true);
    typed(ctx.session.state.tally).as<number>(true);
    typed(ctx.session.state.n).as<number>(true);
    typed(ctx.resources.board.state.notes).as<string[]>(true);
    ctx.cap.inherited.anything();
    // @ts-expect-error What a capability offers is typed.
    await ctx.cap.tally.add("1");
    // @ts-expect-error A function that it does not offer.
    ctx.cap.tally.substract(1);
    // @ts-expect-error Neither the block nor a capability declares it.
    ctx.session.state.m;
  },
});

// State of the block itself joins what it declares; on a sequencer that is the state its steps share.

const tries = defineCapability({ name: "tries", stateSchema: z.object({ tries: z.number().default(0) }) });
handler({ name: "tries", uses: [tries], execute: (_input, ctx) => typed(ctx.self.state.tries).as<number>(true) });
sequencer({ name: "counts", uses: [tally, tries], stateSchema: z.object({ n: z.number().default(0) }) }).tap((_, ctx) =>
  ctx.cap.tally.add(ctx.sequencer.state.tries + ctx.sequencer.state.n),
);

// A generator gets more of them, and may choose some late.

generator({
  name: "sees",
  prompt: "p",
  uses: [sight, tally],
  tools: [],
  context: (_input, ctx) => ctx.cap.tally.add(0),
});
generator({
  name: "chooses",
  model: "m",
  uses: [tally, async (ctx: BlockContext) => (ctx.attempt > 0 ? [sight] : [])],
  prompt: async (_input, ctx) => `${(await ctx.cap.tally.add(1)).toFixed()}`,
});
// @ts-expect-error Only a generator can choose late.
handler({ name: "chooses", uses: [(ctx: BlockContext) => (ctx.attempt > 0 ? [sight] : [])], execute: () => 1 });
// @ts-expect-error A capability is made by `defineCapability`.
handler({ name: "strange", uses: [{ name: "tally" }], execute: () => 1 });
