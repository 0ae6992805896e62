/**
 * A flow that keeps the state of its users and organisations apart from other flows.
 */

import { defineFlow, defineResource, handler } from "@flow-state-dev/core";
import { z } from "zod";

const n = z.object({ n: z.number().default(0) });
const own = defineResource({ scope: "user", stateSchema: n });
const shared = defineResource({ scope: "user", flowIsolation: false, stateSchema: n });

const count = handler({
  name: "count",
  resources: { own, shared },
  execute: async (_input, ctx: any) => {
    await ctx.user.incState({ n: 1 });
    await ctx.org.incState({ n: 1 });
    await ctx.resources.own.incState({ n: 1 });
    await ctx.resources.shared.incState({ n: 1 });
    return [ctx.user.state.n, ctx.org.state.n];
  },
});
const ids = handler({ name: "ids", execute: (_input, ctx: any) => [ctx.user.identity.id, ctx.user.identity.userId, ctx.org.identity.id] });
const asks = handler({
  name: "asks",
  execute: async (_input, ctx: any) => {
    await ctx.user.incState({ n: 10 });
    await ctx.suspend({ reason: "approval", message: "go on?" });
    return ctx.user.state.n;
  },
});

export default defineFlow({
  kind: "isolation",
  isolateUserState: true,
  isolateOrgState: true,
  user: { stateSchema: n },
  org: { stateSchema: n },
  actions: { count: { block: count }, ids: { block: ids }, asks: { block: asks } },
});
