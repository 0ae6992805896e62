/**
 * What goes into a block and what comes out of it: schemas of both generations, inference, routers, errors and rescue.
 *
 * There is nothing to run; `npm run check` is the test. It is not a flow, because it has no default export.
 */

import {
  ConcurrentModificationError,
  FlowError,
  handler,
  OutputValidationError,
  router,
  SuspensionRejectedError,
  ValidationError,
} from "@flow-state-dev/core";
import type { Block, BlockInput, BlockOutput, InputOf, OutputOf, Schema } from "@flow-state-dev/core";
import { z } from "zod";
import { z as z4 } from "zod/v4";
import { is, typed } from "./expect.js";
import type { Equal } from "./expect.js";

// Schemas of both generations have an input and an output side.

const withDefault3 = z.object({ n: z.number().default(1), s: z.string() });
const withDefault4 = z4.object({ n: z4.number().default(1), s: z4.string() });
is<Equal<OutputOf<typeof withDefault3>, { n: number; s: string }>>();
is<Equal<InputOf<typeof withDefault3>, { n?: number | undefined; s: string }>>();
is<Equal<OutputOf<typeof withDefault4>, { n: number; s: string }>>();
is<Equal<InputOf<typeof withDefault4>, { n?: number | undefined; s: string }>>();
withDefault3 satisfies Schema;
withDefault4 satisfies Schema;

// Handlers: a caller gives the input side, the function gets the output side.

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
  outputSchema: z4.object({ size: z4.number(), unit: z4.enum(["cm", "m"]).default("cm") }),
  sessionStateSchema: z4.object({ count: z4.number().default(0) }),
  execute: async (input, ctx) => {
    typed(input.n).as<number>(true);
    typed(ctx.session.state.count).as<number>(true);
    return { size: input.s.length };
  },
});
is<Equal<BlockInput<typeof modern>, { n?: number | undefined; s: string }>>();
is<Equal<BlockOutput<typeof modern>, { size: number; unit: "cm" | "m" }>>();

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
handler({
  name: "literals-stay-literal",
  outputSchema: z.object({ unit: z.enum(["cm", "m"]) }),
  execute: async (_input, ctx) => ({ unit: ctx.attempt > 0 ? "m" : "cm" }),
});

// @ts-expect-error A block needs a name.
handler({ execute: () => 1 });
// @ts-expect-error A handler needs a function.
handler({ name: "lazy" });
// @ts-expect-error A misspelt setting is found.
handler({ name: "typo", sesionStateSchema: z.object({}), execute: () => 1 });
// @ts-expect-error A schema is no plain object.
handler({ name: "shape", inputSchema: { text: z.string() }, execute: () => 1 });
// @ts-expect-error Errors to retry are classes, not names.
handler({ name: "retries", retry: { retryableErrors: ["TypeError"] }, execute: () => 1 });
handler({
  name: "wrong-output",
  outputSchema: z.object({ total: z.number() }),
  // @ts-expect-error The output has to fit the input side of the output schema.
  execute: async () => ({ total: "many" }),
});

// Wrappers keep what they do not change.

is<Equal<BlockOutput<ReturnType<typeof inferred.asTool>>, number>>();
const mapped = inferred.connectInput((raw: { text: string }) => raw.text).connectOutput((length) => [length]);
is<Equal<typeof mapped, Block<{ text: string }, number[]>>>();
inferred.mapModelOutput((length) => `${length} letters`);
// @ts-expect-error A model reads text.
inferred.mapModelOutput((length) => length);

// Routers.

const short = handler({ name: "short", inputSchema: z.string(), execute: () => "short" as const });
const long = handler({ name: "long", inputSchema: z.string(), execute: (input) => input.length });
const number = handler({ name: "number", inputSchema: z.number(), execute: (input) => input });

const route = router({
  name: "route",
  inputSchema: z.string(),
  routes: [short, long],
  sessionStateSchema: z.object({ limit: z.number() }),
  execute: (input, ctx) => (input.length < ctx.session.state.limit ? short : long),
  validateRoute: (candidate, routes) => routes.includes(candidate),
});
is<Equal<typeof route, Block<string, number | "short">>>();
// @ts-expect-error Every route has to accept the router's input.
router({ name: "misrouted", inputSchema: z.string(), routes: [short, number], execute: () => short });
// @ts-expect-error A route is a block, not a function.
router({ name: "functions", inputSchema: z.string(), routes: [() => "short"], execute: () => short });
// @ts-expect-error Routes are a list.
router({ name: "named", inputSchema: z.string(), routes: { short, long }, execute: () => short });
// @ts-expect-error A block is picked, not its name.
router({ name: "by-name", inputSchema: z.string(), routes: [short, long], execute: () => "short" });

// Errors: what each carries, and who handles them.

declare const error: unknown;
if (error instanceof OutputValidationError) {
  typed(error.details?.phase).as<"stream" | "final" | undefined>(true);
  typed(error.details?.issues[0]?.path).as<string | undefined>(true);
}
if (error instanceof ConcurrentModificationError) {
  typed(error.attempts).as<number>(true);
}
if (FlowError.isInstance(error)) {
  typed(error.code).as<string | undefined>(true);
  typed(error.retryable).as<boolean>(true);
}

class OutOfStock extends FlowError {
  constructor(readonly product: string) {
    super(`There is no ${product} left`, { code: "out_of_stock", details: { product } });
  }
}
const apology = handler({ name: "apology", execute: (failure: OutOfStock) => failure.product });
const nothing = handler({ name: "nothing", execute: () => null });
const rescued = long.rescue([
  { when: [OutOfStock], block: apology },
  { when: [SuspensionRejectedError, ValidationError, TypeError], block: nothing },
]);
is<Equal<BlockOutput<typeof rescued>, string | number | null>>();
// @ts-expect-error A failure is handled by a block.
long.rescue([{ block: () => null }]);
// @ts-expect-error Failures are told apart by class.
long.rescue([{ when: ["OutOfStock"], block: nothing }]);
// @ts-expect-error Details are fields, not a text.
throw new FlowError("No", { details: "none left" });
