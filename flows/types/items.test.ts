/**
 * The code of the page on items, as it is written there, so that it keeps type-checking as it stands.
 *
 * Only what that page leaves open is declared here: a context, and the configuration behind an ellipsis.
 * There is nothing to run; `npm run check` is the test. It is not a flow, because it has no default export.
 */

import { generator, handler, resolveItemVisibility } from "@flow-state-dev/core";
import type { BlockContext, BlockOutput, CanonicalItemType, ItemVisibility } from "@flow-state-dev/core";
import { z } from "zod";
import { is, typed } from "./expect.js";
import type { Equal } from "./expect.js";

declare const ctx: BlockContext;
declare const text: string;
declare const name: string;
declare const data: unknown;
declare const message: string;
declare const rest: { name: string; model: string; prompt: string };

// What any block can emit.

ctx.emitMessage(text);
ctx.emitComponent(name, data);
ctx.emitStatus(message);

// A generator's identity routes what it says.

// User-facing agent — on the client stream, in conversation history.
export const chatbot = generator({ agentType: "primary", ...rest });

// Sub-agent — visible to the client (live observability), but its output
// does NOT enter history.
export const worker = generator({ agentType: "sub", ...rest });

// Devtool-only observer — not on the client stream, not in history.
export const memoryObserver = generator({ agentType: "trace", ...rest });

// No agentType → the generator produces no auto-emitted items. Its typed
// `block_output` still flows to parents via graph edges.
export const classifier = generator({ outputSchema: z.enum(["A", "B"]), ...rest });
is<Equal<BlockOutput<typeof classifier>, "A" | "B">>();

// What handlers emit may have an identity, too.

ctx.emitMessage("Analysis complete.");
// Implicit agent-equivalent visibility: on the client, enters history.
ctx.emitMessage("Debug observation", { agentType: "trace" });
// Observability-only: devtool sees it, users and the LLM don't.

// Any block's output can be transient.

handler({ name: "unrecorded", transient: true, execute: () => 1 });

// Three views of a session.

ctx.session.items.all();
ctx.session.items.client();
const history = ctx.session.items.history({ limit: { tokens: 20_000 } });
typed(history[0]?.role).as<"system" | "developer" | "user" | "assistant" | "tool" | undefined>(true);
ctx.session.items.selectForContext({ agentName: "worker" });

// The types of the page's table, and what decides who sees them.

const types = [
  "message",
  "reasoning",
  "block_tool_output",
  "component",
  "container",
  "source",
  "status",
  "state_change",
  "resource_change",
  "step_error",
  "error",
  "block_output",
  "router_decision",
  "state_snapshot",
] as const satisfies readonly CanonicalItemType[];
for (const type of types) {
  typed(resolveItemVisibility({ type, agentType: "trace" })).as<ItemVisibility>(true);
}
