/**
 * The argument forms of a chain's methods, and the mistakes that each of them finds.
 *
 * There is nothing to run; `npm run check` is the test. It is not a flow, because it has no default export.
 */

import { generator, handler, router, sequencer, transientSlot } from "@flow-state-dev/core";
import type { Block, BlockOutput, StepOutcome } from "@flow-state-dev/core";
import { z } from "zod";
import { z as z4 } from "zod/v4";
import { is, typed } from "./expect.js";
import type { Equal } from "./expect.js";

const size = handler({ name: "size", inputSchema: z.string(), execute: (text) => text.length });
const upper = handler({ name: "upper", inputSchema: z.string(), execute: (text) => text.toUpperCase() });
const double = handler({ name: "double", inputSchema: z.number(), execute: (n) => n * 2 });
const start = sequencer({
  name: "start",
  inputSchema: z.string(),
  stateSchema: z.object({ limit: z.number().default(3), busy: transientSlot(z.boolean().default(false)) }),
});

// Blocks written in place, by every factory.

const inline = start
  .step(router, {
    routes: [size, upper],
    execute: (text, ctx) => (text.length > ctx.sequencer.state.limit ? size : upper),
  })
  .tap((value, ctx) => {
    typed(value).as<string | number>(true);
    typed(ctx.sequencer.state.busy).as<boolean>(true);
  })
  .stepIf((value) => value !== "", handler, { outputSchema: z.array(z.string()), execute: (value) => [String(value)] })
  .tapIf((value) => value !== 1, handler, { execute: (value, ctx) => ctx.sequencer.incState({ limit: 1 }) })
  .stepIf(() => true, generator, { name: "write", model: "m", prompt: (value) => String(value) });
is<Equal<BlockOutput<typeof inline>, string | number | string[]>>();

// Both generations of schemas in one chain.

const modern = sequencer({
  name: "modern",
  inputSchema: z4.object({ text: z4.string().default("x") }),
  stateSchema: z4.object({ n: z4.number().default(0), busy: transientSlot(z4.boolean().default(false)) }),
  outputSchema: z4.object({ size: z4.number() }),
})
  .step((value, ctx) => {
    typed(ctx.sequencer.state).as<Readonly<{ n: number; busy: boolean }>>(true);
    return value.text;
  }, size)
  .map((value) => ({ size: value }));
is<Equal<BlockOutput<typeof modern>, { size: number }>>();

// Conditions, connectors and factories may be asynchronous.

start
  .stepIf(
    async (text) => text !== "",
    async (text) => text.trim(),
    size,
  )
  .map(async (value) => [String(value)])
  .forEach(
    async (value, ctx) => value.slice(ctx.sequencer.state.limit),
    (text, index) => (index > 0 ? size : size),
    { maxConcurrency: 2 },
  )
  .forEachBackground((values) => values.map(String), size, { concurrency: 1 })
  .work((values) => values.join(), upper, { name: "aside" })
  .workIf(true, (values) => values.join(), upper)
  .throwIf(
    async (values) => values.length === 0,
    async () => new Error("empty"),
  );

// `then` does not make a sequencer a promise: asynchronous functions hand it on as the block it is.

const counted = start.then(size).then((n) => n + 1, double);
is<Equal<BlockOutput<typeof counted>, number>>();
is<Equal<Awaited<typeof counted>, Block<string, number>>>();
const late = router({
  name: "late",
  inputSchema: z.string(),
  routes: [counted, upper],
  execute: async (text) => (text ? counted : upper),
});
is<Equal<BlockOutput<typeof late>, string | number>>();
// @ts-expect-error The older spelling takes the same forms as `step`.
start.then((text) => text.length);
// @ts-expect-error And is as strict about the value.
start.then(double);

// A step takes options behind its block.

start.step(size, { abortSignal: (ctx) => (ctx.sequencer.state.busy ? AbortSignal.abort() : undefined) });
start
  .step(handler, { execute: (text) => text.length }, { abortSignal: () => undefined })
  .map((n) => typed(n).as<number>(true));
start.stepIf(true, generator, { model: "m", prompt: "p" }, { onSettled: () => {} });
start.stepIf(true, (text) => text.trim(), size, { onSettled: (_, outcome) => typed(outcome).as<StepOutcome>(true) });

// What each method refuses.

// @ts-expect-error An option of a step is one of two.
start.step(size, { onSettle: () => {} });

// @ts-expect-error A step is a block, not its name.
start.step("size");
// @ts-expect-error A function alone is no step; `map` takes one.
start.step((text) => text.length);
// @ts-expect-error The value of the chain has to suit the block.
start.step(double);
// @ts-expect-error A block written in place gets the value of the chain.
start.step(handler, { execute: (n: number) => n });
// @ts-expect-error Its output has to fit its schema.
start.step(handler, { outputSchema: z.object({ n: z.number() }), execute: (text) => ({ n: text }) });
// @ts-expect-error Its routes accept the value, too.
start.step(router, { routes: [double], execute: () => double });
// @ts-expect-error A condition comes before what it guards.
start.stepIf(size);
// @ts-expect-error A condition sees the sequencer's fields, and no others.
start.stepIf((_, ctx) => ctx.sequencer.state.limits > 1, size);
// @ts-expect-error An older spelling is as strict.
start.thenIf((text) => text > 1, size);
// @ts-expect-error A tapped block accepts the value.
start.tap(double);
// @ts-expect-error A list belongs into `stepAll`; the branches of `parallel` have names.
start.parallel([size]);
// @ts-expect-error A branch behind a connector says which block.
start.parallel({ left: { connector: (text) => text } });
// @ts-expect-error A misspelt limit is found.
start.parallel({ left: size }, { concurrency: 2 });
// @ts-expect-error Every block of the list accepts the value.
start.stepAll([size, double]);
// @ts-expect-error Also where only one of them will win.
start.stepAny([size, double]);
// @ts-expect-error Or the fastest.
start.race([size, double]);
// @ts-expect-error An arm has a connector, a condition and a block.
start.branch({ long: [(text) => text, size] });
// @ts-expect-error A background block accepts the value, too.
start.work(double);
// @ts-expect-error Its name stands in an object.
start.work(size, "aside");
// @ts-expect-error Only an array can be iterated.
start.forEachBackground(size);
// @ts-expect-error A loop without a limit might not end.
start.loopBack("size", {});
start.doUntil(
  // @ts-expect-error A loop's condition looks at the block's output.
  (n) => n === "x",
  size.connectInput((value: string | number) => String(value)),
);
// Conditions may be written out.
start.exitIf(true).tapIf(true, size).workIf(false, size).background(size);
// @ts-expect-error An early end depends on something.
start.exitIf("yes");
// @ts-expect-error What is thrown is an error.
start.throwIf((text) => text === "", "empty");
// @ts-expect-error Waiting has to end.
start.waitForCondition(() => true);
// @ts-expect-error A rescue has a block for a kind of failure.
start.rescue([size]);
// @ts-expect-error A chain is no handler.
sequencer({ name: "both", execute: () => 1 });
sequencer({ name: "outer" })
  .step(modern.connectInput(() => ({})))
  // @ts-expect-error Only what the declared output allows leaves the block, and the next step gets nothing else.
  .map((value) => value.length);
