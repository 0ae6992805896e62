/**
 * Evaluators: typed questions about one state, answered by one call of a model.
 */

import { boolean, choice, defineFacetedCollection, defineFlow, evaluator, handler, router, score, sequencer, utility } from "@flow-state-dev/core";
import { z } from "zod";

const triage = evaluator({
  name: "triage",
  model: "small",
  inputSchema: z.object({ message: z.string() }),
  state: (input: { message: string }) => input.message,
  questions: {
    team: choice("Which team should answer?", { billing: "Payments", technical: "Bugs" }),
    urgent: boolean("Does it need somebody now?", { true: "Somebody waits", false: null }),
    mood: score("How angry is the writer?", ["calm", "cross", "furious"]),
  },
});
const dynamic = evaluator({ name: "dynamic", model: "small", questions: async (names: any) => Object.fromEntries(names.map((name: string) => [name, boolean(`Is it ${name}?`)])) as any });
const own = evaluator({
  name: "own",
  model: { specificationVersion: "v1", provider: "home", modelId: "rules", supportedQuestionTypes: ["choice"], doEvaluate: async ({ state }: any) => ({ answers: { size: { type: "choice", choice: state.length > 3 ? "long" : "short" } }, providerMetadata: { typesafe: { confidence: { size: 0.5 } } } }) } as any,
  questions: { size: choice("How long?", { long: null, short: null }) },
});

const says = (name: string) => handler({ name, execute: (input: any) => [name, input] });
const [billing, technical] = [says("billing"), says("technical")];
const route = router({ name: "route", routes: [billing, technical], execute: (output: any) => (output.answers.team.choice === "billing" ? billing : technical) });

const department = evaluator({ name: "department", model: "small", questions: { team: choice("Which?", { billing: null, technical: null }) } });
const urgency = evaluator({ name: "urgency", model: "small", questions: { urgency: choice("How urgent?", { high: null, low: null }) } });
const cascade = utility.cascadingRouter({
  name: "cascade",
  ambiguous: says("review"),
  root: { ask: department, on: "team", branches: {
    billing: { minConfidence: 0.6, next: { ask: urgency, on: "urgency", branches: { high: { minConfidence: 0.7, block: says("escalate") }, low: { block: says("queue") } } } },
    technical: { block: says("tech") },
  } },
});

const tickets = defineFacetedCollection({
  name: "tickets",
  pattern: "tickets/*",
  scope: "user",
  stateSchema: z.object({ title: z.string() }),
  evaluator: evaluator({ name: "topic", model: "small", questions: { topic: choice("What is it about?", { bug: null, idea: null }) } }),
});
const write = handler({ name: "write", inputSchema: z.object({ key: z.string(), text: z.string() }), execute: async ({ key, text }, ctx: any) => { const ticket = await ctx.resources.tickets.getOrCreate(key, { title: key }); await ticket.writeContent(text); } });

export default defineFlow({
  kind: "evaluators",
  resources: tickets.resources,
  actions: {
    triage: { block: triage },
    routed: { block: sequencer({ name: "routed", inputSchema: z.any() }).step(triage).step(route) },
    dynamic: { block: dynamic },
    own: { block: own },
    cascade: { block: cascade },
    resumed: { block: sequencer({ name: "resumed", inputSchema: z.any() }).step(department).step(handler({ name: "ask", execute: async (output: any, ctx: any) => { await ctx.suspend({ reason: "approval", message: "go?" }); return output.answers.team.choice; } })) },
    write: { block: write },
    search: { block: tickets.search },
    reindex: { block: tickets.reindex },
  },
});
