/**
 * Containers: the item that stands around what a sequencer or a router shows.
 */

import { defineFlow, FlowError, handler, router, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const shows = (name: string) => handler({ name, execute: (_input, ctx) => { ctx.emit.component(name, {}); return name; } });
const chain = (name: string, more: object) => sequencer({ name, inputSchema: z.any(), ...more });
const failing = handler({ name: "failing", execute: () => { throw new FlowError("no", { code: "no" }); } });

export default defineFlow({
  kind: "containers",
  actions: {
    nested: {
      block: chain("outer", { container: { component: "panel", label: "Outer" } })
        .step(shows("before"))
        .step(chain("inner", { container: { component: "card" } }).step(shows("within")))
        .tap((_value, ctx) => ctx.emit.component("tapped", {}))
        .work(shows("beside")),
    },
    labelled: { block: chain("labelled", { container: { label: (input: any) => `About ${input}`, metadata: (input: any) => ({ length: input.length }) } }).step(shows("said")) },
    chosen: { block: (() => { const taken = shows("taken"); return router({ name: "chosen", routes: [taken], container: { component: "choice", metadata: { a: 1 } }, execute: () => taken }); })() },
    fails: { block: chain("fails", { container: { component: "panel" } }).step(shows("shown")).step(failing) },
    rescues: { block: chain("rescues", { container: { component: "panel" } }).step(failing).rescue([{ block: shows("saved") }]) },
    retries: { block: chain("retries", { container: { component: "panel" }, retry: { maxAttempts: 2 } }).map((value, ctx) => { if (ctx.attempt === 0) throw new Error("again"); return value; }) },
    badLabel: { block: chain("badLabel", { container: { label: () => { throw new Error("no label"); } } }).step(shows("never")) },
    handlers: { block: handler({ name: "handlers", container: { component: "panel" }, execute: (_input, ctx) => { ctx.emit.component("alone", {}); } }) },
  },
});
