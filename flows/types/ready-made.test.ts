/**
 * Evaluators, utilities, reactions, presets of capabilities, and blocks that a function runs.
 */

import {
  boolean,
  choice,
  defineCapability,
  defineFacetedCollection,
  defineResource,
  defineResourceCollection,
  evaluator,
  generator,
  handler,
  resourceChangeSchema,
  score,
  sequencer,
  utility,
} from "@flow-state-dev/core";
import { z } from "zod";

const double = handler({ name: "double", inputSchema: z.number(), outputSchema: z.number(), execute: (n) => n * 2 });
handler({
  name: "outer",
  inputSchema: z.number(),
  execute: async (n, ctx) => {
    const out: number = await double.run(n, ctx);
    // @ts-expect-error It takes a number.
    await double.run("one", ctx);
    // @ts-expect-error That is no context.
    await double.run(n, { other: 1 });
    return out;
  },
});
sequencer({ name: "s", inputSchema: z.number() }).map(async (n, ctx) => (await double.run(n, ctx)) + 1);

const triage = evaluator({
  name: "triage",
  model: "small",
  inputSchema: z.object({ message: z.string() }),
  state: (input) => input.message,
  questions: {
    team: choice("Which?", { billing: "Money", bugs: null }),
    urgent: boolean("Now?"),
    mood: score("How?", ["calm", "cross"]),
  },
});
sequencer({ name: "routed", inputSchema: z.object({ message: z.string() }) })
  .step(triage)
  .map(({ answers }) => {
    const team: "billing" | "bugs" = answers.team.choice;
    const likely: number = answers.urgent.probability;
    // @ts-expect-error Nobody asked that.
    answers.other;
    return [team, likely, answers.mood.score, answers.team.confidence ?? 0];
  });
// @ts-expect-error An evaluator has one model.
evaluator({ name: "list", model: ["a", "b"], questions: { a: boolean("?") } });

const memo = z.object({ title: z.string(), status: z.enum(["draft", "published"]) });
const announce = handler({
  name: "announce",
  inputSchema: resourceChangeSchema(memo),
  execute: (change) => change.state?.title ?? change.key,
});
defineResourceCollection({
  scope: "session",
  pattern: "memos/*",
  stateSchema: memo,
  reactTo: {
    created: announce,
    stateUpdated: { block: announce, when: (change) => change.state?.status === "published" },
  },
});
defineResource({
  scope: "session",
  stateSchema: memo,
  // @ts-expect-error A single resource is not created.
  reactTo: { created: announce },
});

const skills = defineCapability({
  name: "skills",
  presets: { basics: { context: "B" }, extra: { tools: [double] }, default: ["basics"] },
  config: {
    schema: z.object({ allowed: z.array(z.string()) }),
    resolve: ({ allowed }) => ({ context: allowed.join() }),
  },
});
generator({ name: "g", model: "m", prompt: "p", uses: [skills.presets({ extra: true }).config({ allowed: ["a"] })] });
// @ts-expect-error It has no such preset.
skills.presets({ other: true });
// @ts-expect-error A list of texts.
skills.config({ allowed: 1 });

const summarize = utility.summarizer({ name: "sum", granularity: "brief" });
sequencer({ name: "u", inputSchema: z.string() })
  .step(summarize)
  .map((out) => out.summary.length + (out.keyPoints?.length ?? 0));
const scored = utility.analyzer({ name: "scored", outputSchema: z.object({ route: z.enum(["go", "stop"]) }) });
sequencer({ name: "v", inputSchema: z.string() })
  .step(scored)
  .map((out): "go" | "stop" => out.route);
// @ts-expect-error There is no such granularity.
utility.summarizer({ name: "sum", granularity: "short" });

const tickets = defineFacetedCollection({
  name: "tickets",
  pattern: "tickets/*",
  scope: "user",
  stateSchema: z.object({ title: z.string() }),
  evaluator: triage,
});
tickets.resources.tickets.pattern;
