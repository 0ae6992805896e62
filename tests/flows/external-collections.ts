/**
 * A collection whose instances the app keeps itself: they are read when a block asks for them.
 */

import { defineExternalResourceCollection, defineFlow, handler } from "@flow-state-dev/core";
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
      return [await fails(() => all.get("none")), await fails(() => all.get("broken")), "create" in all];
    } }) },
    search: { block: handler({ name: "search", resources: { goods }, execute: async (query: string, ctx) => {
      const page = await ctx.resources.goods.list(query);
      const last = await ctx.resources.goods.list({ search: query, cursor: page.nextCursor });
      return [page.items.map((one) => one.state.name), page.nextCursor, last.nextCursor ?? null];
    } }) },
  },
});
