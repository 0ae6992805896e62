/**
 * The unchanged snippets of the items guide, with the missing code added.
 */

import { defineFlow, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

// User-facing agent — on the client stream, in conversation history.
const chatbot = generator({ name: "chatbot", model: "gpt-5-mini", prompt: "Chat.", agentType: "primary", /* ... */ });
// Sub-agent — visible to the client (live observability), but its output
// does NOT enter history.
const worker = generator({ name: "worker", model: "gpt-5-mini", prompt: "Work.", agentType: "sub", /* ... */ });
// Devtool-only observer — not on the client stream, not in history.
const memoryObserver = generator({ name: "memory-observer", model: "gpt-5-mini", prompt: "Observe.", agentType: "trace", /* ... */ });
// No agentType → the generator produces no auto-emitted items. Its typed
// `block_output` still flows to parents via graph edges.
const classifier = generator({ name: "classifier", model: "gpt-5-mini", prompt: "Classify.", outputSchema: z.enum(["A", "B"]), /* ... */ });

const analysis = handler({
  name: "analysis",
  execute: (_input, ctx) => {
    ctx.emitMessage("Analysis complete.");
    // Implicit agent-equivalent visibility: on the client, enters history.
    ctx.emitMessage("Debug observation", { agentType: "trace" });
    // Observability-only: devtool sees it, users and the LLM don't.
  },
});

const remember = handler({
  name: "remember",
  execute: (_input, ctx) => {
    const history = ctx.session.items.history({ limit: { tokens: 20_000 } });
    return history;
  },
});

const three = handler({
  name: "three",
  execute: (_input, ctx) => {
    const text = "A message", name = "card", data = { a: 1 }, message = "Looking";
    ctx.emitMessage(text);
    ctx.emitComponent(name, data);
    ctx.emitStatus(message);
  },
});

export default defineFlow({
  kind: "guide-items",
  actions: {
    agents: { block: sequencer({ name: "agents" }).step(chatbot).step(worker).step(memoryObserver).step(classifier) },
    analysis: { block: analysis },
    remember: { block: remember },
    three: { block: three },
  },
});
