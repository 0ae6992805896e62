/**
 * A collection whose instances the app keeps itself: they are read when a block asks for them.
 */

import {
  defineExternalResourceCollection, defineFlow, defineProjectedResourceCollection, defineResource, handler, readResourceContentTool,
  resolveResourceByPath, resourceSearchTools, writeResourceContentTool,
} from "@flow-state-dev/core";
import { parseResourceTemplate } from "@flow-state-dev/core/resource-template";
import { z } from "zod";

const shop: Record<string, unknown> = { lamp: { name: "Lamp", stock: 2 }, chair: { name: "Chair", stock: 0 }, broken: { name: 1 } };
const reads: string[] = [];
const goods = defineExternalResourceCollection({
  pattern: "goods/*",
  scope: "user",
  stateSchema: z.object({ name: z.string(), stock: z.number() }),
  read: ({ key, ctx }) => {
    reads.push(`${ctx.userId} ${key}`);
    return shop[key] ?? null;
  },
  search: async ({ query, ctx }) => ({
    hits: Object.entries(shop).map(([key, state]) => ({ key, state })).filter(({ key }) => key.includes(query.search ?? "")),
    nextCursor: query.cursor === undefined ? `${ctx.scope} ${ctx.scopeId}` : undefined,
  }),
  contentTemplate: parseResourceTemplate("<system>{{ state.name }}: {{ state.stock }}</system>"),
});
const queries: unknown[] = [];
const songs = ["miles/so what", "miles/blue in green", "miles/all blues", "trane/blue train"];
const records = defineProjectedResourceCollection({
  pattern: "records/**",
  scope: "project",
  llmReadable: true,
  stateSchema: z.object({ title: z.string() }),
  read: ({ key }) => {
    reads.push(key);
    return songs.includes(key.replaceAll("-", " ")) ? { title: key.replaceAll("-", " ") } : null;
  },
  search: ({ query }) => {
    queries.push(query);
    const found = songs.filter((title) => title.includes(query.search ?? "")).slice(Number(query.cursor ?? 0));
    const hits = found.slice(0, query.limit).map((title) => ({ key: title.replaceAll(" ", "-"), state: { title } }));
    return { hits, ...(hits.length < found.length ? { nextCursor: String(hits.length) } : {}) };
  },
  contentTemplate: parseResourceTemplate("<system># {{ state.title }}</system>"),
});
const note = defineResource({ scope: "session", llmReadable: true, stateSchema: z.object({}).default({}), content: "blue notes are blue" });
const { searchResources, globResources } = resourceSearchTools();
const fails = async (what: () => Promise<unknown>) => {
  try { return await what(); } catch (error) { return (error as Error).message; }
};

export default defineFlow({
  kind: "external-collections",
  resources: { goods },
  actions: {
    read: { block: handler({ name: "read", resources: { goods }, execute: async (key: string, ctx) => {
      const [one, two] = await Promise.all([ctx.resources.goods.get(key), ctx.resources.goods.getOptional(key)]);
      return [one.state, one.uri, await one.readContent(), one === two, reads, (await ctx.resources.goods.getOptional("none")) ?? null];
    } }) },
    fail: { block: handler({ name: "fail", execute: async (_input, ctx) => {
      const all = ctx.resources.goods;
      const before = reads.length;
      const outside = [await fails(() => all.get("a/b")), await fails(() => all.getOptional("../lamp"))];
      const asked = reads.length - before;
      return [await fails(() => all.get("none")), await fails(() => all.get("broken")), "create" in all, outside, asked];
    } }) },
    tools: { block: handler({ name: "tools", resources: { records }, execute: async (_input, ctx) => {
      const page = await searchResources.run({ query: "blue", prefix: "records", limit: 2 }, ctx);
      const next = await searchResources.run({ query: "blue", prefix: "records", limit: 2, cursor: page.nextCursor }, ctx);
      const below = await searchResources.run({ query: "blue", prefix: "records/trane" }, ctx);
      const elsewhere = await searchResources.run({ query: "blue", prefix: "notes" }, ctx);
      const read = await readResourceContentTool().run({ uri: page.results[0].uri }, ctx);
      return { page, next, below, elsewhere, read, globbed: await globResources.run({}, ctx), queries };
    } }) },
    kept: { block: handler({ name: "kept", resources: { goods, records }, execute: async (_input, ctx) => {
      const [read, write] = [readResourceContentTool(), writeResourceContentTool()];
      const before = reads.length;
      const told = [
        await fails(() => read.run({ uri: "user/goods/lamp" }, ctx)), await fails(() => read.run({ uri: "project/records/../lamp" }, ctx)),
        await fails(() => write.run({ uri: "user/goods/lamp", content: "x" }, ctx)),
        await fails(() => write.run({ uri: "project/records/miles/all-blues", content: "x" }, ctx)),
      ];
      const author = await resolveResourceByPath("user/goods/lamp", ctx);
      return [told, author?.state ?? null, (await resolveResourceByPath("project/records/../lamp", ctx)) ?? null, reads.slice(before)];
    } }) },
    both: { block: handler({ name: "both", resources: { records, note }, execute: async (_input, ctx) =>
      searchResources.run({ query: "blue", limit: 3 }, ctx) }) },
    search: { block: handler({ name: "search", resources: { goods }, execute: async (query: string, ctx) => {
      const page = await ctx.resources.goods.list(query);
      const last = await ctx.resources.goods.list({ search: query, cursor: page.nextCursor });
      return [page.items.map((one) => one.state.name), page.nextCursor, last.nextCursor ?? null];
    } }) },
  },
});
