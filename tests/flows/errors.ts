/**
 * What is thrown, what is recorded of it, and what a flow prints.
 */

import { defineFlow, FlowError, ValidationError, handler, sequencer } from "@flow-state-dev/core";
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
