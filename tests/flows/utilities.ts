/**
 * `utility`: ready-made blocks. Those that ask a model are generators, answered by scripts as any generator.
 */

import { defineFlow, defineResourceCollection, generator, handler, sequencer, utility } from "@flow-state-dev/core";
import { z } from "zod";

const chain = (name: string) => sequencer({ name, inputSchema: z.any() });
const team = (name: string) => handler({ name, execute: (ticket: any) => ({ team: name, ticket }) });
const [billing, support, unknown] = [team("billing"), team("support"), team("unknown")];

const decompose = utility.decomposer({ name: "plan-research" });
const summarize = utility.summarizer({ name: "summarize-subtask", granularity: "detailed" });
const gate = utility.analyzer({ name: "quality-gate", criteria: ["coverage"] });
const synthesize = utility.synthesizer({ name: "final-answer", objectives: ["Cite evidence"] });

const docs = defineResourceCollection({ scope: "session", pattern: "docs/*", stateSchema: z.object({ title: z.string(), size: z.number() }) });
const keyed = { billing, support: chain("support-chain").step(support) };

export default defineFlow({
  kind: "utilities",
  actions: {
    research: { block: sequencer({ name: "research", inputSchema: z.object({ question: z.string() }) })
      .map((input) => input.question)
      .then(decompose)
      .map((plan: any) => plan.tasks.map((task: any) => task.goal))
      .forEach(summarize)
      .map((summaries: any) => summaries.map((one: any) => one.summary).join("\n"))
      .then(gate)
      .map((analysis: any) => ({ findings: analysis.findings }))
      .then(synthesize) },
    decompose: { block: decompose },
    reduce: { block: chain("reduce").parallel({ distill: utility.contextReducer({ name: "distill" }), denoise: utility.contextReducer({ name: "denoise", mode: "denoise" }), compress: utility.contextReducer({ name: "compress", mode: "compress" }) }) },
    memories: { block: utility.memoryExtractor({ name: "memories" }) },
    compose: { block: utility.composer({ name: "compose", objectives: ["Keep the order"] }) },
    custom: { block: utility.summarizer({ name: "custom", outputSchema: z.object({ summary: z.string(), confidence: z.number() }) }) },
    combine: { block: utility.combiner({ name: "combine" }) },
    classify: { block: utility.intentClassifier({ name: "classify", categories: { billing: "Money", support: "Bugs" } }) },
    route: { block: utility.intentRouter({ name: "triage", categories: { billing: { description: "Money", handler: billing }, support: { description: "Bugs", handler: support } }, fallback: unknown, confidenceThreshold: 0.7 }) },
    strict: { block: utility.intentRouter({ name: "strict", categories: { billing: { description: "Money", handler: billing }, support: { description: "Bugs", handler: billing } }, confidenceThreshold: 0.7 }) },
    keyed: { block: utility.keyedRouter({ name: "keyed", blocks: keyed, select: (input: any) => input.to }) },
    keyedOr: { block: utility.keyedRouter({ name: "keyedOr", blocks: keyed, select: (input: any) => input.to, fallback: unknown }) },
    titled: { userMessage: (input: any) => input, block: chain("titled").step(generator({ name: "talk", model: "tiny", prompt: "Talk.", user: (input: any) => input, agentType: "primary" })).work(utility.sessionTitleGenerator({ name: "auto-title", model: "tiny" })).waitForWork().map((_said: any, ctx: any) => ctx.session.metadata.title) },
    upsert: { block: chain("upsert")
      .step(utility.upsertResource({ name: "store", inputSchema: z.object({ id: z.string(), text: z.string() }), resources: { docs }, collectionKey: "docs", key: (input) => input.id, state: (input) => ({ title: input.id, size: input.text.length }), content: (input) => input.text }))
      .step(handler({ name: "read", execute: async (input: any, ctx: any) => { const doc = await ctx.resources.docs.get(input.id); return [doc.state, await doc.readContent()]; } })) },
  },
});
