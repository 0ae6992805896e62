/**
 * A flow that says `org` as newer projects do: it always runs in one.
 */

import { DEFAULT_ORG_ID, defineFlow, defineResource, handler, isValidOrgId } from "@flow-state-dev/core";
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

export default defineFlow({ kind: "orgs", actions: { spend: { block: spend }, note: { block: note }, facts: { block: facts } } });
