/**
 * What an author may count on from inference: each line either says what a type is, or is an error that must be one.
 *
 * There is nothing to run; `npm run check` is the test. It is not a flow, because it has no default export.
 */

import {
  defineCapability, defineFlow, defineResource, defineResourceCollection, FlowError, generator, handler, router, sequencer,
} from "@flow-state-dev/core";
import type {
  Block, BlockInput, BlockOutput, InputOf, ModelMessage, OutputOf, ResourceCollectionHandle, ResourceHandle, Schema,
} from "@flow-state-dev/core";
import { z } from "zod";
import { z as z4 } from "zod/v4";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
declare function is<T extends true>(): T;
/** Takes the type of a value and says whether it is the expected one, without asking for type parameters twice. */
declare function typed<A>(value: A): { as<B>(ok: Equal<A, B>): void };

// Schemas of both generations have an input and an output side.

const withDefault3 = z.object({ n: z.number().default(1), s: z.string() });
const withDefault4 = z4.object({ n: z4.number().default(1), s: z4.string() });
is<Equal<OutputOf<typeof withDefault3>, { n: number; s: string }>>();
is<Equal<InputOf<typeof withDefault3>, { n?: number | undefined; s: string }>>();
is<Equal<OutputOf<typeof withDefault4>, { n: number; s: string }>>();
is<Equal<InputOf<typeof withDefault4>, { n?: number | undefined; s: string }>>();
withDefault3 satisfies Schema;
withDefault4 satisfies Schema;

// Handlers: input and output.

const both = handler({
  name: "both",
  inputSchema: withDefault3,
  outputSchema: z.object({ total: z.number(), unit: z.enum(["cm", "m"]).default("cm") }),
  execute: (input) => {
    typed(input).as<{ n: number; s: string }>(true);
    return { total: input.n };
  },
  onCompleted: (output) => typed(output).as<{ total: number; unit: "cm" | "m" }>(true),
});
is<Equal<BlockInput<typeof both>, { n?: number | undefined; s: string }>>();
is<Equal<BlockOutput<typeof both>, { total: number; unit: "cm" | "m" }>>();

const modern = handler({
  name: "modern",
  inputSchema: withDefault4,
  sessionStateSchema: z4.object({ count: z4.number().default(0) }),
  execute: async (input, ctx) => {
    typed(input.n).as<number>(true);
    typed(ctx.session.state.count).as<number>(true);
    return input.s.length;
  },
});
is<Equal<BlockOutput<typeof modern>, number>>();

handler({
  name: "wrong-output",
  outputSchema: z.object({ total: z.number() }),
  // @ts-expect-error The output has to fit the input side of the output schema.
  execute: async () => ({ total: "many" }),
});

handler({
  name: "literals-stay-literal",
  outputSchema: z.object({ unit: z.enum(["cm", "m"]) }),
  execute: async (input, ctx) => ({ unit: ctx.attempt > 0 ? "m" : "cm" }),
});

const inferred = handler({ name: "inferred", execute: (input: string) => input.length });
is<Equal<typeof inferred, Block<string, number>>>();
const silent = handler({ name: "silent", execute: async () => {} });
is<Equal<BlockOutput<typeof silent>, void>>();
const loose = handler({ name: "loose", execute: (input) => input });
is<Equal<typeof loose, Block<any, any>>>();

const connected = handler({
  name: "connected",
  inputSchema: z.string(),
  connectInput: (raw: { text: string }) => raw.text,
  execute: (input) => input.length,
});
is<Equal<typeof connected, Block<{ text: string }, number>>>();

// @ts-expect-error A block needs a name.
handler({ execute: () => 1 });
// @ts-expect-error A misspelt setting is found.
handler({ name: "typo", sesionStateSchema: z.object({}), execute: () => 1 });

// Handlers: the state of every scope, and its operations.

const counts = z.object({ n: z.number(), label: z.string(), tags: z.array(z.string()), notes: z.record(z.number()) });

handler({
  name: "scopes",
  requestStateSchema: z.object({ stage: z.string().optional() }),
  sessionStateSchema: counts,
  userStateSchema: z.object({ seen: z.number().default(0) }),
  projectStateSchema: z.object({ plan: z.enum(["free", "paid"]) }),
  sequencerStateSchema: z.object({ step: z.number() }),
  targetStateSchemas: { planner: z.object({ plan: z.array(z.string()) }) },
  execute: async (input, ctx) => {
    typed(input).as<any>(true);
    typed(ctx.request.state.stage).as<string | undefined>(true);
    typed(ctx.session.state.tags).as<string[]>(true);
    typed(ctx.user.state.seen).as<number>(true);
    typed(ctx.project?.state.plan).as<"free" | "paid" | undefined>(true);
    typed(ctx.org?.state.plan).as<"free" | "paid" | undefined>(true);
    typed(ctx.sequencer!.state.step).as<number>(true);
    typed(ctx.targets.planner?.state.plan).as<string[] | undefined>(true);
    typed(ctx.getTarget("planner")?.state.plan).as<any>(true);

    typed(await ctx.session.patchState({ n: 1 })).as<boolean>(true);
    await ctx.session.patchState("tags", (tags) => [...tags, "x"]);
    await ctx.session.incState({ n: 2 });
    await ctx.session.pushState("tags", "x");
    await ctx.session.setStateRecord("notes", "a", 1);
    await ctx.session.deleteStateRecord("notes", "a");
    await ctx.session.atomicState((state) => ({ n: state.n + state.tags.length }));
    await ctx.session.setState({ n: 0, label: "", tags: [], notes: {} });

    // @ts-expect-error `ctx.sequencer` is undefined outside a sequencer, so it needs `!` or `?.`.
    ctx.sequencer.state;
    // @ts-expect-error So does the project.
    ctx.project.state;
    // @ts-expect-error State is changed through its operations only.
    ctx.session.state.n = 1;
    // @ts-expect-error The type of a patched field has to fit.
    await ctx.session.patchState({ n: "1" });
    // @ts-expect-error Undeclared fields are found.
    await ctx.session.patchState({ m: 1 });
    // @ts-expect-error Only numbers can be incremented.
    await ctx.session.incState({ label: 1 });
    // @ts-expect-error Only arrays can be pushed to.
    await ctx.session.pushState("label", "x");
    // @ts-expect-error What is pushed has to be an element.
    await ctx.session.pushState("tags", 1);
    // @ts-expect-error What a record gets has to be one of its values.
    await ctx.session.setStateRecord("notes", "a", "1");
    // @ts-expect-error An updater returns a value of its field.
    await ctx.session.patchState("n", () => "1");
    // @ts-expect-error `setState` replaces everything, so it needs everything.
    await ctx.session.setState({ n: 0 });
  },
});

handler({
  name: "without-schemas",
  execute: async (input, ctx) => {
    await ctx.session.patchState({ anything: 1 });
    await ctx.user.incState({ visits: 1 });
    await ctx.user.pushState("facts", { text: "x" });
    await ctx.sequencer?.setStateRecord("findings", "a", "b");
    return ctx.session.state.anything.at.any.depth;
  },
});

handler({
  name: "org-spelling",
  orgStateSchema: z.object({ seats: z.number() }),
  execute: async (input, ctx) => {
    typed(ctx.org?.state.seats).as<number | undefined>(true);
    typed(ctx.project?.state.seats).as<number | undefined>(true);
  },
});

// Items, journal and the rest of the context.

handler({
  name: "emits",
  execute: async (input, ctx) => {
    ctx.emit.message("one", { agentType: "sub" });
    ctx.emitMessage([{ type: "output_text", text: "two" }], { itemVisibility: { client: true, history: false } });
    ctx.emit.component("card", { a: 1 }, { key: "k" });
    ctx.emit.status();
    // @ts-expect-error There are three kinds of agent.
    ctx.emitMessage("three", { agentType: "secondary" });
    typed(await ctx.session.items.history()).as<ModelMessage[]>(true);
    typed(await ctx.session.items.llm()).as<ModelMessage[]>(true);
    ctx.session.items.all({ itemTypes: ["block_tool_output", "tool_output"], limit: { turns: 2 } });
    const answer = await ctx.suspend({ reason: "approval", resumeSchema: z.object({ ok: z.boolean() }) });
    typed(answer).as<{ ok: boolean }>(true);
    typed(await ctx.runOnce("id", () => 1)).as<number>(true);
    typed(ctx.getBlockOutput(both)?.unit).as<"cm" | "m" | undefined>(true);
    throw new FlowError("No", { code: "no", retryable: false, details: { input } });
  },
});

// Resources and capabilities.

const doc = defineResource({ scope: "session", stateSchema: z.object({ title: z.string() }), writable: true });
const files = defineResourceCollection({ pattern: "files/*", scope: "user", stateSchema: z.object({ size: z.number() }) });
const clock = defineCapability({ name: "clock", fns: (ctx) => ({ id: ctx.session.identity.id }) });

handler({
  name: "resources",
  resources: { doc, files },
  uses: [clock],
  execute: async (input, ctx) => {
    typed(ctx.resources.doc).as<ResourceHandle<{ title: string }>>(true);
    typed(ctx.resources.get("doc").state.title).as<string>(true);
    typed(ctx.resources.files).as<ResourceCollectionHandle<{ size: number }>>(true);
    typed(ctx.session.resources.get("other").state).as<any>(true);
    // @ts-expect-error A resource's state is typed, too.
    await ctx.resources.doc.patchState({ title: 1 });
  },
});

// Routers and generators.

const short = handler({ name: "short", inputSchema: z.string(), execute: () => "short" as const });
const long = handler({ name: "long", inputSchema: z.string(), execute: (input) => input.length });
const number = handler({ name: "number", inputSchema: z.number(), execute: (input) => input });

const route = router({
  name: "route",
  inputSchema: z.string(),
  routes: [short, long],
  execute: (input) => (input.length < 3 ? short : long),
});
is<Equal<typeof route, Block<string, number | "short">>>();
// @ts-expect-error Every route has to accept the router's input.
router({ name: "misrouted", inputSchema: z.string(), routes: [short, number], execute: () => short });
// @ts-expect-error Only a block can be picked.
router({ name: "by-name", inputSchema: z.string(), routes: [short, long], execute: () => "short" });

const text = generator({ name: "text", model: "m", prompt: "p" });
is<Equal<BlockOutput<typeof text>, string>>();
const structured = generator({
  name: "structured",
  model: (input) => (input.hard ? "big" : ["small", "big"]),
  inputSchema: z.object({ hard: z.boolean() }),
  userStateSchema: z.object({ style: z.string() }),
  outputSchema: z.enum(["A", "B"]),
  prompt: [(input, ctx) => `${input.hard} ${ctx.user.state.style}`, null],
  history: { limit: { turns: 3 } },
  user: (input) => String(input.hard),
  tools: [both.asTool({ agentName: "tape" })],
});
is<Equal<typeof structured, Block<{ hard: boolean }, "A" | "B">>>();
// @ts-expect-error There are three kinds of agent.
generator({ name: "who", model: "m", prompt: "p", agentType: "observer" });

// Flows: callers' input, projections of state.

defineFlow({
  kind: "flow",
  session: {
    stateSchema: counts,
    client: { expose: ["n"], derived: { half: ({ state }) => state.n / 2 } },
  },
  user: { stateSchema: counts, clientData: { label: ({ state }) => state.label.toUpperCase() } },
  actions: {
    one: { block: both, userMessage: (input) => input.s },
    two: { steps: number, inputSchema: z.number(), userMessage: (input) => input.toFixed(), concurrency: "queue" },
    three: { block: loose },
    four: { block: both, inputSchema: withDefault3, userMessage: (input) => input.n.toFixed() },
  },
});
// @ts-expect-error Only declared fields can be exposed.
defineFlow({ kind: "flow", session: { stateSchema: counts, client: { expose: ["m"] } } });
// @ts-expect-error An action's input has to suit its block.
defineFlow({ kind: "flow", actions: { one: { block: number, inputSchema: z.string() } } });

// Globals: what a flow has, and what it has not.

typed(crypto.randomUUID()).as<string>(true);
typed(new URL("https://example.com/?a=1").searchParams.get("a")).as<string | null>(true);
typed(new TextDecoder().decode(new TextEncoder().encode("a"))).as<string>(true);
typed(structuredClone({ a: [1] })).as<{ a: number[] }>(true);
typed(new AbortController().signal.aborted).as<boolean>(true);
export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
export const load = async (signal: AbortSignal) => (await fetch("https://example.com", { signal })).json();
// @ts-expect-error There is no DOM.
document;
// @ts-expect-error There is no Node.
process;
