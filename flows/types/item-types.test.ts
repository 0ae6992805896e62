/**
 * Items by type: a type tells the fields, a view tells the types, and identities are checked where items are emitted.
 *
 * There is nothing to run; `npm run check` is the test. It is not a flow, because it has no default export.
 */

import { handler, resolveItemVisibility, sequencer, SUSPENSION_SKIPPED } from "@flow-state-dev/core";
import type {
  ComponentItem,
  Content,
  Item,
  ItemOf,
  ItemVisibility,
  MessageItem,
  ModelMessage,
  ToolOutputItem,
} from "@flow-state-dev/core";
import { z } from "zod";
import { is, typed } from "./expect.js";
import type { Equal } from "./expect.js";

is<Equal<ItemOf<"message">, MessageItem>>();
// Newer names ask for the same items.
is<Equal<ItemOf<"tool_output">, ToolOutputItem>>();
is<Equal<ItemOf<"block_trace">, ItemOf<"block_output">>>();

/** Every type has its own fields. A type left out here would make the function return undefined, which is an error. */
export function line(item: Item): string {
  switch (item.type) {
    case "message":
      return `${item.role}: ${item.content.length}`;
    case "reasoning":
      return String(item.summary[0]?.type);
    case "block_tool_output":
      return `${item.toolCall.name}(${item.toolCall.arguments}) ${item.error?.message ?? item.output}`;
    case "component":
      return `${item.component} ${item.key ?? ""}`;
    case "container":
      return item.label ?? item.blockName;
    case "source":
      return item.title ?? item.url;
    case "status":
      return item.message ?? "";
    case "state_change":
      return `${item.scope} ${item.operation} ${item.path ?? ""} ${item.value}`;
    case "resource_change":
      return `${item.resourcePath} ${item.changeType}`;
    case "step_error":
      return item.message;
    case "error":
      return `${item.code ?? ""} ${item.message}`;
    case "block_output":
      return `${item.blockKind} ${item.blockName} ${item.duration}`;
    case "router_decision":
      return item.selectedRoute;
    case "state_snapshot":
      return `${item.stepName} ${item.version} ${item.terminal}`;
    case "suspension":
      return `${item.suspensionStatus} ${item.reason}`;
    case "suspension_resume":
      return item.resolution;
    case "continuation":
      return item.provenance.path;
  }
}

handler({
  name: "reads",
  execute: (_input, ctx) => {
    const spoken = ctx.session.items.all({
      itemTypes: ["message", "tool_output"],
      limit: { turns: 2 },
      includeTransient: true,
    });
    for (const item of spoken) {
      typed(item.type).as<"message" | "block_tool_output">(true);
      typed(item.visibility).as<ItemVisibility>(true);
    }
    const shown = ctx.session.items.client().filter((item) => item.type === "component");
    typed(shown).as<ComponentItem[]>(true);
    typed(ctx.session.items.history({ limit: { tokens: 100 }, roles: ["user"] })).as<ModelMessage[]>(true);
    typed(ctx.response.getItems()).as<readonly Item[]>(true);
    typed(resolveItemVisibility({ type: "message", agentType: "sub" })).as<ItemVisibility>(true);
    // @ts-expect-error There is no such type.
    ctx.session.items.all({ itemTypes: ["massage"] });
    // @ts-expect-error A status has no content.
    ctx.session.items.all({ itemTypes: ["status"], includeTransient: true })[0]?.content;
    // @ts-expect-error A type has to be known before its fields are.
    ctx.session.items.client()[0]?.component;
    // @ts-expect-error Visibility looks at a type.
    resolveItemVisibility({ agentType: "sub" });
  },
});

handler({
  name: "emits",
  execute: async (_input, ctx) => {
    const parts: Content[] = [{ type: "output_text", text: "two" }];
    ctx.emit.message("one", { agentType: "sub", agentName: "helper" });
    ctx.emitMessage(parts, { itemVisibility: { client: true, history: false }, transient: true });
    ctx.emit.component("card", { a: 1 }, { key: "k", agentType: "trace" });
    ctx.emit.status();
    ctx.emitStatus("Working", { blocked: false, backgroundTasks: 2, transient: false });
    // @ts-expect-error There are three kinds of agent.
    ctx.emitMessage("three", { agentType: "secondary" });
    // @ts-expect-error A message is text, or parts of it.
    ctx.emitMessage({ text: "three" });
    // @ts-expect-error A component has a name before its data.
    ctx.emitComponent({ points: [1] });
    // @ts-expect-error A status is nobody's in particular.
    ctx.emitStatus("Working", { agentType: "sub" });

    const answer = await ctx.suspend({
      reason: "approval",
      resumeSchema: z.object({ ok: z.boolean() }),
      timeoutMs: 1000,
    });
    typed(answer).as<{ ok: boolean }>(true);
    const skippable = await ctx.suspend({
      reason: "approval",
      resumeSchema: z.object({ ok: z.boolean() }),
      allow: ["submit", "skip"],
    });
    typed(skippable).as<{ ok: boolean } | typeof SUSPENSION_SKIPPED>(true);
    const submitted = await ctx.suspend({
      reason: "approval",
      resumeSchema: z.object({ ok: z.boolean() }),
      allow: ["submit"],
    });
    typed(submitted).as<{ ok: boolean }>(true);
    // @ts-expect-error There are four answers.
    await ctx.suspend({ reason: "approval", allow: ["maybe"] });
    typed(await ctx.runOnce("id", async () => 1)).as<number>(true);
    // @ts-expect-error A suspension says why it waits.
    await ctx.suspend({ message: "May I?" });
  },
});

sequencer({ name: "waits" }).waitForCondition(
  (items) => items.some((item) => item.type === "component" && item.component === "answer"),
  { timeoutMs: 10, wakeOn: (item, kind) => item.type === "component" && kind === "added" },
);
