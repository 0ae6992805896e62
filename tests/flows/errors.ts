/**
 * What is thrown, what is recorded of it, and what a flow prints.
 */

import {
  AmbiguousBlockNameError, ConcurrentModificationError, ContextLengthError, defineFlow, FlowError, generator, handler, ModelError, NetworkError, OutputValidationError,
  ProviderUnavailableError, RateLimitError, ResourceDeletedError, ScopeMutationTimeoutError, SequencerOutputSchemaError, sequencer, TimeoutError, ToolExecutionError, ValidationError,
} from "@flow-state-dev/core";
import { z } from "zod";

class Custom extends FlowError {
  constructor() {
    super("a class of the flow's own", { code: "custom" });
    this.name = "Custom";
  }
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));
const throws = (name: string, make: (ctx: any) => unknown) => ({ block: handler({ name, execute: (_input, ctx) => { throw make(ctx); } }) });
const shown = handler({ name: "shown", execute: (error: any) => ({ error: error instanceof Error, flowError: FlowError.isInstance(error), name: error.name, code: error.code ?? "none", message: error.message, retryable: error.retryable ?? "unknown", details: error.details ?? null }) });
const rescued = (name: string, make: () => unknown) => ({ block: handler({ name, execute: () => { throw make(); } }).rescue([{ block: shown }]) });
const caught = async (act: () => unknown) => {
  try {
    await act();
    return "nothing was thrown";
  } catch (error: any) {
    return { name: error.name, code: error.code ?? "none", message: error.message, flowError: FlowError.isInstance(error) };
  }
};

const fails = (name: string) => handler({ name, execute: () => { throw new Error(name); } });
const classes: any[] = [
  ValidationError, OutputValidationError, SequencerOutputSchemaError, AmbiguousBlockNameError, ConcurrentModificationError, ResourceDeletedError,
  NetworkError, TimeoutError, RateLimitError, ModelError, ProviderUnavailableError, ContextLengthError, ToolExecutionError, ScopeMutationTimeoutError,
];

export default defineFlow({
  kind: "errors",
  session: { stateSchema: z.object({ n: z.number().default(0) }) },
  actions: {
    plain: throws("plain", () => new Error("plainly wrong")),
    flow: throws("flow", () => new FlowError("with a code", { code: "my_code", details: { at: 3 } })),
    custom: throws("custom", () => new Custom()),
    validation: throws("validation", () => new ValidationError("not valid")),
    type: throws("type", () => new TypeError("not a function")),
    text: throws("text", () => "only a text"),
    number: throws("number", () => 42),
    empty: throws("empty", () => ""),
    nothing: throws("nothing", () => undefined),
    object: throws("object", () => ({ message: "not an error" })),
    cause: throws("cause", () => new FlowError("outer", { code: "outer", cause: new TypeError("inner") })),
    async: { block: handler({ name: "async", execute: async () => { await Promise.resolve(); throw new Error("later"); } }) },
    nested: { block: sequencer({ name: "a" }).step(sequencer({ name: "b" }).parallel({ left: handler({ name: "c", execute: () => { throw new FlowError("deep", { code: "deep" }); } }) })) },
    inMap: { block: sequencer({ name: "inMap" }).map(() => { throw new FlowError("in a map", { code: "map" }); }) },
    rescuedPlain: rescued("rescuedPlain", () => new Error("plainly wrong")),
    rescuedFlow: rescued("rescuedFlow", () => new FlowError("again later", { code: "later", retryable: true, details: { tries: 1 } })),
    rescuedText: rescued("rescuedText", () => "only a text"),
    rescuedCustom: { block: handler({ name: "own", execute: () => { throw new Custom(); } }).rescue([{ when: [Custom], block: shown }]) },
    classes: {
      block: handler({
        name: "classes",
        execute: () => classes.map((Class) => { const error = new Class("x"); return [error.name, error.code, error.retryable ?? "no word", FlowError.isInstance(error), error instanceof Class]; }),
      }),
    },
    model: {
      block: sequencer({ name: "model" })
        .step(generator({ name: "asks", model: "tiny", prompt: "?" }))
        .rescue([{ when: [RateLimitError], block: handler({ name: "slow", execute: (error: any) => [error instanceof RateLimitError, error instanceof FlowError, error.code, error.retryable] }) }]),
    },
    gate: {
      block: sequencer({ name: "around" })
        .step(sequencer({ name: "gate", outputSchema: z.string() }).map(() => 1))
        .rescue([{ block: handler({ name: "seen", execute: (error: any) => [error instanceof SequencerOutputSchemaError, error.details.sequencerName] }) }]),
    },
    aggregate: {
      block: sequencer({ name: "aggregate" })
        .race([fails("a"), fails("b")])
        .rescue([{ block: handler({ name: "gathered", execute: (error: any) => [error instanceof AggregateError, error.errors.every((one: any) => one instanceof Error), error.errors.map((one: any) => one.message)] }) }]),
    },
    causes: throws("causes", () => new FlowError("outer", { code: "outer", cause: new FlowError("middle", { code: "middle", cause: new RangeError("inner") }) })),
    state: {
      block: handler({
        name: "state",
        execute: async (_input, ctx) => ({
          schema: await caught(() => ctx.session.patchState({ n: "x" as any })),
          readOnly: ((await caught(() => { (ctx.session.state as any).n = 1; })) as any).name,
          increment: ((await caught(() => ctx.session.incState({ n: "1" as any }))) as any).name,
          after: ctx.session.state.n,
        }),
      }),
    },
    resource: { block: handler({ name: "resource", execute: (_input, ctx) => caught(() => ctx.resources.get("missing")) }) },
    tells: {
      block: handler({
        name: "tells",
        execute: () => {
          const made = () => new Error("just shown");
          console.log(new Map([["a", { b: 1 }]]), new Set([1, 2]), [new Set()]);
          console.assert(1 < 2, "not said");
          console.assert(1 > 2, "order", { of: "things" });
          console.log(made());
        },
      }),
    },
    unstorable: { block: sequencer({ name: "unstorable" }).map((value) => value)
      .map(() => ({ of: new Set([1]) })) },
    sayings: {
      block: sequencer({ name: "sayings" })
        .tap(handler({
          name: "speaks",
          execute: async () => {
            console.log("plain", 1, true, null, undefined);
            console.info({ a: [1, { b: "two" }] });
            console.warn(new Error("careful").message);
            console.error("bad", "news");
            console.debug("detail");
            await Promise.resolve();
            console.log("after waiting");
          },
        }))
        .map((value) => { console.log("from a map"); return value; }),
    },
    interleaved: {
      block: sequencer({ name: "interleaved" }).parallel({
        left: handler({ name: "left", execute: async () => { for (const [n, ms] of [[1, 10], [2, 60]]) { await pause(ms!); console.log(`left ${n}`); } } }),
        right: handler({ name: "right", execute: async () => { for (const [n, ms] of [[1, 40], [2, 60]]) { await pause(ms!); console.log(`right ${n}`); } } }),
      }),
    },
  },
});
