/**
 * How types flow along a chain: each operation decides what the next one gets, and callbacks see the sequencer's state.
 *
 * There is nothing to run; `npm run check` is the test. It is not a flow, because it has no default export.
 */

import { defineFlow, FlowError, generator, handler, sequencer } from "@flow-state-dev/core";
import type { Block, BlockInput, BlockOutput, TargetHandle } from "@flow-state-dev/core";
import { z } from "zod";
import { is, typed } from "./expect.js";
import type { Equal } from "./expect.js";

const size = handler({
  name: "size",
  inputSchema: z.string(),
  outputSchema: z.number(),
  execute: (input) => input.length,
});
const double = handler({ name: "double", inputSchema: z.number(), execute: (input) => input * 2 });
const show = handler({ name: "show", inputSchema: z.number(), execute: (input) => String(input) });
const any = handler({ name: "any", execute: (input) => input });

const start = sequencer({
  name: "start",
  inputSchema: z.object({ text: z.string().default("x") }),
  stateSchema: z.object({ currentStep: z.number().default(0), plan: z.array(z.string()).default([]) }),
});
is<Equal<BlockInput<typeof start>, { text?: string | undefined }>>();

// Steps, maps and taps.

const straight = start
  .map((value, ctx) => {
    typed(value).as<{ text: string }>(true);
    typed(ctx.sequencer.state.currentStep).as<number>(true);
    return value.text;
  })
  .step(size)
  .tap((value, ctx) => {
    typed(value).as<number>(true);
    return ctx.sequencer.incState({ currentStep: value });
  })
  .tap(double)
  .tap((value) => String(value), size)
  .tapIf((value, ctx) => value > ctx.sequencer.state.currentStep, double)
  .step((value) => value + 1, show);
is<Equal<BlockOutput<typeof straight>, string>>();
is<Equal<BlockInput<typeof straight>, { text?: string | undefined }>>();

const older = start
  .map((value) => value.text)
  .then(size)
  .thenIf((value) => value > 1, show);
is<Equal<BlockOutput<typeof older>, string | number>>();

const maybe = start.map((value) => value.text).stepIf((value) => value.length > 3, size);
is<Equal<BlockOutput<typeof maybe>, string | number>>();
const connectedMaybe = start.stepIf(
  (_, ctx) => ctx.sequencer.state.plan.length > 0,
  (value) => value.text,
  size,
);
is<Equal<BlockOutput<typeof connectedMaybe>, { text: string } | number>>();

// @ts-expect-error The value of the chain has to suit the block.
start.step(size);
// @ts-expect-error So has what a connector makes of it.
start.step((value) => value.text.length, size);
// @ts-expect-error State is typed in callbacks.
start.map((_, ctx) => ctx.sequencer.state.nothing);
// @ts-expect-error A sequencer without state of its own may have none around it.
sequencer({ name: "stateless" }).map((_, ctx) => ctx.sequencer.state);

start.tap((_, ctx) => {
  typed(ctx.sequencer).as<TargetHandle<{ currentStep: number; plan: string[] }>>(true);
});
sequencer({ name: "inner", sequencerStateSchema: z.object({ currentStep: z.number() }) }).tap((_, ctx) => {
  typed(ctx.sequencer?.state.currentStep).as<number | undefined>(true);
});
sequencer({ name: "scoped", sessionStateSchema: z.object({ turns: z.number() }) }).tap((_, ctx) => {
  typed(ctx.session.state.turns).as<number>(true);
});
const untyped = sequencer({ name: "untyped" })
  .map((value) => value.a.b)
  .step(size)
  .step(any)
  .step(show);
is<Equal<BlockOutput<typeof untyped>, string>>();
is<Equal<BlockInput<typeof untyped>, any>>();

// Blocks written in place.

const inline = start
  .step(handler, {
    name: "inline",
    outputSchema: z.object({ kind: z.enum(["a", "b"]) }),
    execute: (input, ctx) => {
      typed(input).as<{ text: string }>(true);
      typed(ctx.sequencer.state.currentStep).as<number>(true);
      return { kind: "a" };
    },
  })
  .tap(handler, { execute: (input) => typed(input).as<{ kind: "a" | "b" }>(true) })
  .step(generator, { name: "write", model: "m", prompt: (input) => input.kind });
is<Equal<BlockOutput<typeof inline>, string>>();

// Fan-out.

const fan = start
  .map((value) => value.text)
  .parallel({
    size,
    shown: { connector: (value, ctx) => value.length + ctx.sequencer.state.currentStep, block: show },
  });
is<Equal<BlockOutput<typeof fan>, { size: number; shown: string }>>();
const all = start.map((value) => value.text).stepAll([size, { connector: (value) => value.length, block: show }]);
is<Equal<BlockOutput<typeof all>, [number, string]>>();
const anyOf = start.map(() => 1).stepAny([double, show]);
is<Equal<BlockOutput<typeof anyOf>, string | number>>();
const first = start.map(() => 1).race([double, show], { maxConcurrency: 1 });
is<Equal<BlockOutput<typeof first>, string | number>>();

const each = start.map((value) => [value.text]).forEach(size, { maxConcurrency: 2 });
is<Equal<BlockOutput<typeof each>, number[]>>();
const made = start
  .map((value) => [value.text])
  .forEach((item, index, ctx) => {
    typed(item).as<string>(true);
    typed(ctx.sequencer.state.plan).as<string[]>(true);
    return index > 0 ? size : size;
  });
is<Equal<BlockOutput<typeof made>, number[]>>();
const picked = start.forEach((_, ctx) => ctx.sequencer.state.plan, size);
is<Equal<BlockOutput<typeof picked>, number[]>>();
// @ts-expect-error Only an array can be iterated.
start.forEach(size);
// @ts-expect-error Every branch has to accept the value.
start.parallel({ size });

// Branches.

const branched = start.branch({
  long: [(value) => value.text, (text) => text.length > 10, size],
  short: [(value, ctx) => value.text.length + ctx.sequencer.state.currentStep, (length) => length >= 0, show],
});
is<Equal<BlockOutput<typeof branched>, string | number>>();
// @ts-expect-error An arm's connector has to make what its block accepts.
start.branch({ wrong: [(value) => value.text, () => true, show] });

// Loops, guards and background work keep or replace the value.

const looped = start
  .map(() => 1)
  .doUntil((value, ctx) => value > ctx.sequencer.state.currentStep, double)
  .doWhile(
    (value) => value < 100,
    (value) => value + 1,
    double,
  )
  .loopBack("double", { when: (value) => value < 10, maxIterations: 3 })
  .work(show)
  .workIf((value, ctx) => value > ctx.sequencer.state.currentStep, show, { name: "aside" })
  .sideChain((value) => value, show)
  .sideChainIf(true, show)
  .waitForWork({ failOnError: true })
  .waitForSideChain()
  .throwIf(
    (value) => value < 0,
    (value) => new FlowError(`${value} is negative`),
  );
is<Equal<BlockOutput<typeof looped>, number>>();
// @ts-expect-error A loop's block has to accept its own output.
start.map(() => 1).doUntil(() => true, show);

const background = start
  .map((value) => [value.text])
  .forEachBackground(size, { concurrency: 2 })
  .forEachSideChain(() => size);
is<Equal<BlockOutput<typeof background>, string[]>>();
const waited = start.waitForCondition((items) => items.length > 0, { timeoutMs: 10 });
is<Equal<BlockOutput<typeof waited>, { timedOut: boolean }>>();

// Leaving early, rescuing and declaring an output decide what a sequencer produces, not what its next operation gets.

const early = start.exitIf((value) => value.text === "").map((value) => value.text.length);
is<Equal<BlockOutput<typeof early>, number | { text: string }>>();
const none = handler({ name: "none", execute: () => null });
const rescued = start.map(() => 1).rescue([{ when: [FlowError], block: show }, { block: none }]);
is<Equal<BlockOutput<typeof rescued>, string | number | null>>();
const rescuedBlock = size.rescue([{ block: none }]);
is<Equal<BlockOutput<typeof rescuedBlock>, number | null>>();
const declared = sequencer({
  name: "declared",
  inputSchema: z.string(),
  outputSchema: z.object({ n: z.number().default(0) }),
})
  .exitIf((value) => value === "")
  .step(size)
  .map((n) => ({ n }));
is<Equal<BlockOutput<typeof declared>, { n: number }>>();

// Sequencers are blocks: they nest, and an action can run them.

const nested = start
  .step(straight)
  .map((value) => value.length)
  .connectInput((raw: { message: string }) => ({ text: raw.message }));
is<Equal<BlockInput<typeof nested>, { message: string }>>();
is<Equal<BlockOutput<typeof nested>, number>>();
const asBlock: Block<{ message: string }, number> = nested;
defineFlow({
  kind: "nested",
  actions: {
    run: { block: nested, userMessage: (input) => input.message },
    parsed: {
      block: start,
      inputSchema: z.object({ text: z.string().default("x") }),
      userMessage: (input) => input.text,
    },
  },
});
nested.validate();
export { asBlock };
