/**
 * A session with a retention, whose history shows only the newest items.
 */

import { defineFlow, handler } from "@flow-state-dev/core";
import { z } from "zod";

const say = handler({ name: "say", inputSchema: z.string(), transient: true, execute: (text: string, ctx) => { ctx.emit.message(text); } });
const fail = handler({ name: "fail", inputSchema: z.string(), transient: true, execute: (text: string, ctx) => { ctx.emit.message(text); throw new Error("no"); } });
const read = handler({
  name: "read",
  transient: true,
  execute: async (_input, ctx) => (await ctx.session.items.history()).map((message: any) => message.content),
});

export default defineFlow({
  kind: "retention",
  session: { retention: { maxItems: 2, maxAge: "7d" } },
  actions: { say: { block: say }, fail: { block: fail }, read: { block: read } },
});
