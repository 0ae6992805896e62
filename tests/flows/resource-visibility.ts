/**
 * What a flow lets the tools for resources reach: all of a resource, only its reading, or nothing.
 */

import { createManifestRegistry, defineExternalResourceCollection, defineFlow, defineResource, defineResourceCollection, discoveryTools, handler, readResourceContentTool, resolveResourceByUri, resourcesManifestSource, resourceSearchTools, resourceTools, sequencer, writeResourceContentTool } from "@flow-state-dev/core";
import { z } from "zod";

const text = (ref: string) => defineResource({ ref, scope: "session", stateSchema: z.object({}), content: `the body of ${ref}`, llmReadable: true, llmWritable: true });
const list = (pattern: string) => defineResourceCollection({ pattern, scope: "session", stateSchema: z.object({ text: z.string().default("") }), llmReadable: true });
const kept = (pattern: string, llmReadable: boolean) => defineExternalResourceCollection({ pattern, scope: "session", stateSchema: z.object({}), llmReadable, read: () => null, search: () => ({ hits: [] }) });
const fixed = defineResource({ ref: "fixed", scope: "session", stateSchema: z.object({}), content: "fixed", llmReadable: true, llmWritable: true, writable: false, metadata: { description: " What it is for. " } });
const resources = { wiki: kept("wiki/*", true), closed: kept("closed/*", false), hiddenWiki: kept("hidden/*", true), fixed, handbook: text("handbook"), payroll: text("payroll"), ledger: text("ledger"), notes: list("notes/*"), pages: list("pages/*"), cards: list("cards/*") };

const { globResources, grepResourceContent, searchResources } = resourceSearchTools();
const { createResource, readResource, updateResource, deleteResource, listResources } = resourceTools();
const { discover } = discoveryTools(createManifestRegistry([resourcesManifestSource()]));
const [read, write] = [readResourceContentTool(), writeResourceContentTool()];
const seed = handler({ name: "seed", execute: async (_input, ctx: any) => {
  for (const name of ["notes", "pages", "cards"]) await ctx.resources[name].create("a", { text: name });
  await ctx.resources.payroll.writeContent("written by name");
  return ctx.resources.payroll.readContent();
} });
const peek = handler({ name: "peek", execute: async (_input, ctx: any) => {
  const found = [];
  for (const uri of ["session/handbook", "session/payroll", "session/ledger", "session/notes/a", "session/pages/a"]) found.push((await resolveResourceByUri(uri, ctx)) !== undefined);
  return found;
} });
/** What each call comes to, also where it fails. */
const all = (name: string, calls: [any, unknown][]) => {
  let chain: any = sequencer({ name, inputSchema: z.any() }).map(() => [] as unknown[]);
  for (const [block, input] of calls) {
    chain = chain.parallel({ before: handler({ name: "before", execute: (v) => v }), now: sequencer({ name: "now", inputSchema: z.any() }).map(() => input).step(block).rescue([{ block: handler({ name: "said", execute: (error: any) => error.message }) }]) });
    chain = chain.map(({ before, now }: any) => [...before, now]);
  }
  return { block: chain };
};

export default defineFlow({
  kind: "resource-visibility",
  resources,
  session: { stateSchema: z.object({ open: z.boolean().default(false), odd: z.boolean().default(false) }) },
  resourceVisibility: (ctx, { name, ref }) => {
    if (ctx.session.state.odd) return "shown" as any;
    if (ctx.session.state.open || ref.scope !== "session") return "visible";
    return name === "handbook" || name === "pages" ? "read-only" : ["payroll", "notes", "hiddenWiki"].includes(name) ? "hidden" : "visible";
  },
  actions: {
    seed: { block: seed },
    open: { block: handler({ name: "open", execute: async (_input, ctx: any) => { await ctx.session.patchState({ open: true }); } }) },
    odd: { block: sequencer({ name: "odd" }).tap(handler({ name: "turn", execute: async (_input, ctx: any) => { await ctx.session.patchState({ odd: true }); } })).map(() => ({})).step(read) },
    finds: all("finds", [[read, {}], [globResources, {}], [grepResourceContent, { pattern: "body" }], [searchResources, { query: "body" }], [listResources, {}]]),
    discovers: all("discovers", [[discover, { detail: "full" }]]),
    peek: { block: peek },
    reads: all("reads", [[read, { uri: "session/handbook" }], [read, { uri: "session/payroll" }], [read, { uri: "session/nothing" }], [readResource, { path: "pages/a" }], [readResource, { path: "notes/a" }]]),
    writes: all("writes", [
      [write, { uri: "session/handbook", content: "x" }], [write, { uri: "session/payroll", content: "x" }], [write, { uri: "session/ledger", content: "x" }],
      [createResource, { path: "cards/b" }], [createResource, { path: "pages/b" }], [createResource, { path: "notes/b" }],
      [updateResource, { path: "pages/a", state: { text: "x" } }], [deleteResource, { path: "pages/a" }], [deleteResource, { path: "cards/a" }],
    ]),
  },
});
