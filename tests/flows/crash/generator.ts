/**
 * Models that call tools in the middle of their loop: neither a tool nor a model call comes twice.
 */

import { defineFlow, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

import { does, effect } from "./lib/counting";

const tool = (name: string) =>
  handler({
    name,
    description: `Does ${name}`,
    inputSchema: z.object({ q: z.string() }),
    execute: async ({ q }, ctx: any) => {
      await effect(ctx);
      await ctx.session.incState({ tools: 1 });
      await ctx.request.setStateRecord("asked", name, q);
      return `${name} of ${q}`;
    },
  });

const bot = generator({
  name: "bot",
  model: "tiny",
  prompt: "Use your tools.",
  inputSchema: z.any(),
  user: (value: any) => `Begin with ${value}`,
  tools: [tool("search"), tool("read")],
});

export default defineFlow({
  kind: "generator",
  request: { stateSchema: z.object({ asked: z.record(z.string(), z.string()).default({}) }) },
  session: { stateSchema: z.object({ tools: z.number().default(0) }) },
  actions: {
    go: {
      inputSchema: z.number(),
      userMessage: (input: number) => `number ${input}`,
      block: sequencer({ name: "asks", inputSchema: z.any() }).step(does("before")).step(bot).step(does("after", (value) => ({ said: value }))),
    },
  },
});
