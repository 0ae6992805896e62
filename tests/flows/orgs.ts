/**
 * A flow that says `org` as newer projects do: it always runs in one.
 */

import { DEFAULT_ORG_ID, defineFlow, defineResource, defineResourceCollection, handler, isValidOrgId } from "@flow-state-dev/core";
import { z } from "zod";

const notes = defineResource({ scope: "org", stateSchema: z.object({ list: z.array(z.string()).default([]) }) });

const spend = handler({
  name: "spend",
  orgStateSchema: z.object({ budget: z.number().default(100) }),
  execute: async (amount: number, ctx) => {
    await ctx.org.incState({ budget: -amount });
    return { budget: ctx.org.state.budget, org: ctx.org.identity.id };
  },
});
const note = handler({
  name: "note",
  resources: { notes },
  execute: async (text: string, ctx: any) => {
    await ctx.resources.notes.pushState("list", text);
    return [ctx.resources.notes.state.list.length, ctx.session.identity.orgId === ctx.org.identity.id];
  },
});
const facts = handler({ name: "facts", execute: (_input, ctx) => [ctx.org.identity.id === DEFAULT_ORG_ID, isValidOrgId(DEFAULT_ORG_ID), isValidOrgId(" ")] });

// Instances that say to which organisation they belong.
const told: unknown[] = [];
const stamped = (scope: "session" | "user") =>
  defineResourceCollection({ scope, pattern: `${scope}-stamped/*`, stateSchema: z.object({ orgId: z.string().optional(), label: z.string() }), stampOrgId: true, onInstanceCreated: (_key, _state, ctx) => { told.push([ctx.scopeType, ctx.scopeId === ctx.session.identity.id, ctx.scopeId === ctx.session.identity.userId, ctx.orgId]); } });
const stamp = handler({
  name: "stamp",
  resources: { mine: stamped("user"), here: stamped("session") },
  execute: async (_input, ctx: any) => {
    const { mine, here } = ctx.resources;
    const made = { ...(await mine.create("a", { label: "a" })).state };
    const other = await mine.create("b", { label: "b", orgId: "elsewhere" });
    await other.setState({ label: "c" });
    const replaced = await mine.create("a", { label: "d" }, { replace: true });
    await here.upsert("a", { label: "e" });
    return { made, other: other.state, replaced: replaced.state, here: (await here.get("a")).state, told };
  },
});

export default defineFlow({ kind: "orgs", actions: { spend: { block: spend }, note: { block: note }, facts: { block: facts }, stamp: { block: stamp } } });
