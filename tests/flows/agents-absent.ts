/** What is not there: it is said by name, with what takes its place, and nothing is lost in silence. */
import { defineAgent, definePrompt, defineTool, injectMessage, queueMessage } from "@standardagents/builder";
import { z } from "zod";

/** What a newer version has; the types know none of it. */
const attempts: Record<string, (flow: any) => unknown> = {
  sql: (flow) => flow.storage.sql.exec("SELECT 1"),
  alarm: (flow) => flow.storage.setAlarm(5),
  instance: (flow) => flow.thread.instance.getMessages(),
  newer: (flow) => flow.sideAStepCount,
  method: (flow) => flow.getMessages(),
  own: (flow) => (flow.mine = 5),
  files: (flow) => injectMessage(flow, { role: "user", content: "x", attachments: [{}] } as never),
  more: (flow) => injectMessage(flow, { role: "user", content: "x", createdAt: 5 } as never),
  queued: (flow) => queueMessage(flow, { role: "user", content: "x", attachments: [{}] } as never),
};

export const attempt = defineTool("Tries", z.object({ what: z.string() }), (flow, { what }) => attempts[what]?.(flow));

/** Names of newer versions that mean the same. */
export const newer = defineTool("Uses newer names", async (flow: any) => {
  flow.queueTool("say", { text: "queued" });
  await flow.injectMessage({ role: "system", content: "injected" });
  await flow.setValue("n", 1);
  const kept = await flow.getValue("n");
  await flow.setValue("n", null);
  flow.emit("progress", { percent: 50 });
  const { execution } = flow;
  execution.stopped = false;
  const history = execution.messageHistory.map((message: { role: string }) => message.role);
  return [flow.stepCount, execution.stepCount, flow.agentId, typeof flow.userId, kept, await flow.getValue("n"), history.join(" ")];
});
export const say = defineTool("Says a text", z.object({ text: z.string() }), (_flow, { text }) => text);

class Money {
  constructor(readonly amount: number) {}
}

/** Values that JSON form changes. */
export const lossy = defineTool("Keeps values of classes", async (flow) => {
  flow.context.when = new Date(0);
  flow.context.plain = { list: [1, "a"] };
  await flow.storage.put("bytes", { of: new Uint8Array([1]) });
  await flow.storage.put("price", new Money(5));
  await flow.storage.put("price", new Money(6));
  return "kept";
});

export const picture = defineTool("Answers with more than texts", () => ({
  status: "success",
  content: [
    { type: "text", text: "a picture" },
    { type: "image", data: "…" },
  ],
  attachments: [{ name: "a.png" }],
}));

/** A transaction of the storage that ends in three ways. */
export const transact = defineTool("Stores all or nothing", async (flow) => {
  await flow.storage.put({ kept: 1, gone: 1 });
  const change = (how: string) =>
    flow.storage.transaction(async (txn) => {
      await txn.put(how, 1);
      await txn.put("kept", 2);
      await txn.delete("gone");
      if (how === "thrown") throw new Error("no");
      if (how === "rolled back") txn.rollback();
    });
  await change("thrown").catch(() => {});
  await change("rolled back");
  const before = [...(await flow.storage.list()).entries()];
  await change("done");
  return [before, [...(await flow.storage.list()).entries()]];
});

definePrompt({
  name: "main",
  prompt: "Try.",
  model: "m",
  includeChat: true,
  tools: ["attempt", "picture", "transact", "newer", "lossy"],
});

export default defineAgent({ name: "agents-absent", sideA: { prompt: "main" } });
