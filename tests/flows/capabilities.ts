/**
 * Capabilities: what several blocks share, given by name.
 */

import { defineCapability, defineFlow, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const tally = defineCapability({
  name: "tally",
  sessionStateSchema: z.object({ tally: z.number().default(0) }),
  fns: (ctx: any) => ({ add: async (n: number) => { await ctx.session.incState({ tally: n }); return ctx.session.state.tally; } }),
});
const look = handler({ name: "look", description: "Looks", execute: () => "seen" });
const sight = defineCapability({ name: "sight", context: "You can see.", tools: [look] });

const counts = handler({ name: "counts", uses: [tally], execute: (n: number, ctx: any) => ctx.cap.tally.add(n) });

export default defineFlow({
  kind: "capabilities",
  actions: {
    functions: { block: sequencer({ name: "outer", inputSchema: z.any() }).step(counts).step(counts) },
    absent: { block: handler({ name: "absent", execute: (_input, ctx: any) => typeof ctx.cap?.tally }) },
    sees: { block: generator({ name: "sees", model: "tiny", prompt: "Look.", uses: [sight] }) },
  },
});
