/**
 * State: what a block declares is what it sees, in every scope, and each operation takes only the fields it can work on.
 *
 * There is nothing to run; `npm run check` is the test. It is not a flow, because it has no default export.
 */

import { handler } from "@flow-state-dev/core";
import type { BlockContext, ContextBase } from "@flow-state-dev/core";
import { z } from "zod";
import { z as z4 } from "zod/v4";
import { typed } from "./expect.js";

const counts = z.object({
  n: z.number(),
  label: z.string(),
  tags: z.array(z.string()),
  notes: z.record(z.number()),
  perhaps: z.array(z.number()).optional(),
  style: z.object({ tone: z.enum(["dry", "warm"]), emoji: z.boolean() }),
});

// Every scope by its own schema.

handler({
  name: "scopes",
  requestStateSchema: z.object({ stage: z.string().optional() }),
  sessionStateSchema: counts,
  userStateSchema: z4.object({ seen: z4.number().default(0), facts: z4.record(z4.string(), z4.string()) }),
  projectStateSchema: z.object({ plan: z.enum(["free", "paid"]) }),
  sequencerStateSchema: z.object({ step: z.number() }),
  targetStateSchemas: { planner: z.object({ plan: z.array(z.string()) }) },
  execute: async (input, ctx) => {
    typed(input).as<any>(true);
    typed(ctx.request.state.stage).as<string | undefined>(true);
    typed(ctx.session.state.tags).as<string[]>(true);
    typed(ctx.user.state.seen).as<number>(true);
    typed(ctx.project?.state.plan).as<"free" | "paid" | undefined>(true);
    typed(ctx.org.state.plan).as<"free" | "paid">(true);
    typed(ctx.sequencer!.state.step).as<number>(true);
    typed(ctx.targets.planner?.state.plan).as<string[] | undefined>(true);
    typed(ctx.targets.another?.state).as<Readonly<any> | undefined>(true);
    typed(ctx.getTarget("planner")?.state.plan).as<any>(true);
    typed(ctx.getTarget<{ plan: string[] }>("planner")?.state.plan).as<string[] | undefined>(true);

    await ctx.user.setStateRecord("facts", "name", "Ada");
    await ctx.targets.planner?.pushState("plan", "look");
    // @ts-expect-error `ctx.sequencer` is undefined outside a sequencer, so it needs `!` or `?.`.
    ctx.sequencer.state;
    // @ts-expect-error So does the project.
    ctx.project.state;
    // @ts-expect-error A field that the slice does not declare.
    ctx.sequencer!.state.plan;
    // @ts-expect-error A block may have no target of that name before it.
    ctx.targets.planner.state;
  },
});

handler({
  name: "org-spelling",
  orgStateSchema: z.object({ seats: z.number() }),
  execute: async (_input, ctx) => {
    typed(ctx.org.state.seats).as<number>(true);
    typed(ctx.project?.state.seats).as<number | undefined>(true);
  },
});

// The block's own state and its parent's.

handler({
  name: "own",
  stateSchema: z.object({ tries: z.number().default(0) }),
  parentStateSchema: z.object({ log: z.array(z.string()) }),
  parentInputSchema: z.object({ topic: z.string() }),
  execute: async (_input, ctx) => {
    typed(ctx.self.state.tries).as<number>(true);
    typed(ctx.parent!.state.log).as<string[]>(true);
    typed(ctx.parent!.input.topic).as<string>(true);
    await ctx.self.incState({ tries: 1 });
    await ctx.parent!.pushState("log", "tried");
    // @ts-expect-error The root block has no parent.
    ctx.parent.name;
    // @ts-expect-error What is pushed has to be an element.
    await ctx.parent!.pushState("log", 1);
  },
});
handler({
  name: "no-state-of-its-own",
  execute: async (_input, ctx) => {
    await ctx.parent?.pushState?.("log", "perhaps");
    // @ts-expect-error Without a `stateSchema` there is no own state.
    ctx.self.state;
    // @ts-expect-error A parent may have no state.
    await ctx.parent?.pushState("log", "certainly");
  },
});

// The operations.

handler({
  name: "operations",
  sessionStateSchema: counts,
  execute: async (_input, ctx) => {
    const { session } = ctx;
    typed(await session.patchState({ n: 1, label: "x" })).as<boolean>(true);
    await session.patchState("tags", (tags) => [...tags, "x"]);
    await session.incState({ n: 2 });
    await session.pushState("tags", "x");
    await session.pushState("perhaps", 1);
    await session.setStateRecord("notes", "a", 1);
    await session.setStateRecord("style", "tone", "dry");
    await session.deleteStateRecord("notes", "a");
    await session.atomicState((state) => ({ n: state.n + state.tags.length }));
    await session.setState({ n: 0, label: "", tags: [], notes: {}, style: { tone: "dry", emoji: false } });

    // @ts-expect-error State is changed through its operations only.
    session.state.n = 1;
    // @ts-expect-error The type of a patched field has to fit.
    await session.patchState({ n: "1" });
    // @ts-expect-error A misspelt field is found.
    await session.patchState({ lable: "x" });
    // @ts-expect-error An updater returns a value of its field.
    await session.patchState("n", () => "1");
    // @ts-expect-error An updater's field has to exist.
    await session.patchState("m", () => 1);
    // @ts-expect-error Only number fields can be incremented.
    await session.incState({ label: 1 });
    // @ts-expect-error By numbers.
    await session.incState({ n: "1" });
    // @ts-expect-error The amount stands under its field.
    await session.incState("n");
    // @ts-expect-error Only array fields can be pushed to.
    await session.pushState("label", "x");
    // @ts-expect-error What is pushed has to be an element.
    await session.pushState("tags", 1);
    // @ts-expect-error An array is no record.
    await session.setStateRecord("tags", "0", "x");
    // @ts-expect-error Neither is a number.
    await session.setStateRecord("n", "0", 1);
    // @ts-expect-error What a record gets has to be one of its values.
    await session.setStateRecord("notes", "a", "1");
    // @ts-expect-error An object with known fields has no others.
    await session.setStateRecord("style", "colour", "red");
    // @ts-expect-error Deleting works on records only.
    await session.deleteStateRecord("tags", "0");
    // @ts-expect-error `atomicState` computes declared fields.
    await session.atomicState(() => ({ m: 1 }));
    // @ts-expect-error It has to be synchronous.
    await session.atomicState(async () => ({ n: 1 }));
    // @ts-expect-error `setState` replaces everything, so it needs everything.
    await session.setState({ n: 0 });
  },
});

// Without schemas everything is loose, and helpers take the context of any block.

handler({
  name: "without-schemas",
  execute: async (_input, ctx) => {
    await ctx.session.patchState({ anything: 1 });
    await ctx.user.incState({ visits: 1 });
    await ctx.user.pushState("facts", { text: "x" });
    await ctx.sequencer?.setStateRecord("findings", "a", "b");
    await ctx.session.patchState("list", (list) => [...list, 1]);
    return ctx.session.state.anything.at.any.depth;
  },
});

const note = (ctx: BlockContext, text: string) => ctx.session.appendJournal({ text });
const tell = (ctx: ContextBase, text: string) => ctx.emitStatus(text);
const size = (ctx: { session: { state: { tags: string[] } } }) => ctx.session.state.tags.length;
handler({
  name: "helped",
  sessionStateSchema: counts,
  sequencerStateSchema: z.object({ step: z.number() }),
  stateSchema: z.object({ own: z.number() }),
  execute: async (_input, ctx) => {
    await note(ctx, "noted");
    tell(ctx, "told");
    return size(ctx);
  },
});
