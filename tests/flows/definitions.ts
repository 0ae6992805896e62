/**
 * Definitions before a run: schemas that chains infer, checks when a definition is built, flows as factories.
 */

import { defineFlow, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const toText = handler({ name: "toText", inputSchema: z.number(), outputSchema: z.string(), execute: (n: number) => String(n) });
const toLength = handler({ name: "toLength", inputSchema: z.string(), outputSchema: z.number(), execute: (text: string) => text.length });
const open = handler({ name: "open", execute: (value) => value });
const item = z.object({ a: z.number() });

/** Names the kind of a schema, according to the values that it accepts. */
const kind = (schema: any) => {
  if (!schema) return "none";
  const accepts = (value: unknown) => schema.safeParse(value).success;
  if (accepts(1) && accepts("x") && accepts([])) return "any";
  return accepts(1) ? "number" : accepts("x") ? "text" : accepts(["x"]) ? "texts" : accepts({ left: "x", right: 1 }) ? "left and right" : "other";
};
const kinds = (...blocks: any[]) => handler({ name: "kinds", execute: () => blocks.map((block) => [kind(block.inputSchema), kind(block.outputSchema)]) });
const details = (build: () => unknown) => {
  try {
    build();
  } catch (error: any) {
    return error.details;
  }
};
const message = (build: () => unknown) => {
  try {
    build();
    return "it was built";
  } catch (error: any) {
    return `${error.name}: ${error.message}`;
  }
};

const answering = (outputSchema: any) => generator({ name: "answering", model: "m", prompt: "p", outputSchema });
const tree: any = z.object({ name: z.string(), below: z.lazy(() => z.array(z.object({ ...tree.shape }))) });

const start = sequencer({ name: "start" });
const declared = sequencer({ name: "declared", inputSchema: z.string() });
const builds = {
  nameless: message(() => handler({ name: " ", execute: () => 1 })),
  lazy: message(() => handler({ name: "lazy" } as any)),
  step: message(() => start.step("not a block" as any)),
  rescue: message(() => open.rescue("nothing" as any)),
};

const flow = defineFlow({
  kind: "definitions",
  actions: {
    inputs: { block: kinds(start.step(toText), start.map((value) => value).step(toText), declared.step(toText as any), start.tap(toText)) },
    outputs: { block: kinds(start.step(toText), start.step(toText).step(toLength), start.step(toText).step(toLength).tap(toText), start.step(toText).map((value) => value)) },
    fanOuts: { block: kinds(start.parallel({ left: toText, right: toLength as any }), start.forEach(toText), start.stepAll([toText]), start.forEach(() => toText)) },
    mistakes: { block: handler({ name: "mistakes", execute: () => builds }) },
    mismatch: {
      block: handler({
        name: "mismatch",
        execute: () => ({
          good: message(() => (sequencer({ name: "good", outputSchema: z.string() }).step(toText) as any).validate()),
          kind: message(() => (sequencer({ name: "kind", outputSchema: z.number() }).step(toText) as any).validate()),
          keys: message(() => (sequencer({ name: "keys", outputSchema: z.object({ b: z.number() }) }).step(handler({ name: "gives", outputSchema: item, execute: () => ({ a: 1 }) })) as any).validate()),
          field: message(() => (sequencer({ name: "field", outputSchema: z.object({ a: z.string(), n: z.number() }) }).step(handler({ name: "fields", outputSchema: z.object({ a: z.string(), n: z.boolean() }), execute: () => ({ a: "", n: true }) })) as any).validate()),
          element: message(() => (sequencer({ name: "element", outputSchema: z.array(z.number()) }).step(handler({ name: "elements", outputSchema: z.array(z.string()), execute: () => [] })) as any).validate()),
          details: details(() => (sequencer({ name: "details", outputSchema: z.object({ n: z.number() }) }).step(handler({ name: "detailed", outputSchema: z.object({ n: z.string() }), execute: () => ({ n: "" }) })) as any).validate()),
          open: message(() => (sequencer({ name: "open", outputSchema: z.number() }).step(open) as any).validate()),
        }),
      }),
    },
    strict: {
      block: handler({
        name: "strict",
        execute: () => ({
          record: message(() => answering(z.object({ list: z.array(z.object({ metrics: z.record(z.number()) })) }))),
          union: message(() => answering(z.object({ at: z.union([z.string(), z.number()]).optional() }))),
          details: details(() => answering(z.record(z.string()))),
          good: message(() => answering(z.object({ kind: z.union([z.literal("a"), z.literal("b")]), note: z.string().nullable(), inner: item.optional() }))),
          tree: message(() => answering(tree)),
          handler: message(() => handler({ name: "free", outputSchema: z.record(z.number()), execute: () => ({}) })),
        }),
      }),
    },
    described: { description: "Says what it says", block: handler({ name: "described", execute: () => "said" }) },
    overridden: { block: handler({ name: "original", execute: () => "original" }) },
  },
});

export default flow({ actions: { overridden: { block: handler({ name: "replaced", execute: () => "replaced" }) } } });
