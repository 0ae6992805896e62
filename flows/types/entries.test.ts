/**
 * Entries, middleware and dispatchers.
 *
 * There is nothing to run; `npm run check` is the test.
 */

import {
  defineFlow,
  defineScheduleBinding,
  defineWebhookBinding,
  dispatcher,
  DispatchRefusedError,
  generator,
  handler,
  type Middleware,
} from "@flow-state-dev/core";
import { z } from "zod";
import { typed } from "./expect.js";

const one = handler({ name: "one", execute: (_input, ctx) => ctx.flow.config.size as number });

const timing: Middleware = {
  name: "timing",
  filter: (block) => block.kind === "generator",
  execute: async (ctx, next) => {
    const output = await next();
    await ctx.session.patchState({ [ctx.block.name]: ctx.input });
    return output;
  },
};
generator({ name: "speechless", model: "m", middleware: [timing, async (_ctx, next) => next()] });

interface Paid {
  data: { object: { id: string } };
}

const background = dispatcher({
  name: "background",
  type: "internal",
  target: "tidy",
  inputSchema: z.object({ room: z.string() }),
  session: { key: ({ room }) => room },
  payload: ({ room }) => ({ room }),
});
const reply = dispatcher({
  name: "reply",
  type: "internal",
  flowKind: "other",
  target: "tidy",
  session: { from: true },
});
const newer = dispatcher({
  name: "newer",
  action: "tidy",
  inputSchema: z.object({ room: z.string() }),
  session: { key: ({ room }) => room },
});
const seat = dispatcher<{ issue: string }>({
  name: "seat",
  type: "task",
  target: "work",
  session: { key: (task) => task.issue },
});
const told = handler({
  name: "told",
  execute: (error: unknown) => (error instanceof DispatchRefusedError ? error.refused : "other"),
});

export const flow = defineFlow({
  kind: "entries",
  middleware: [timing],
  configSchema: z.object({ size: z.number() }),
  actions: {
    go: { block: background.rescue([{ when: [DispatchRefusedError], block: told }]) },
    reply: { block: reply },
    newer: { block: newer },
  },
  internal: { actions: { tidy: { block: one, tokenBudget: { maxTotalTokens: 10 } } } },
  task: { actions: { work: { block: one } } },
  webhooks: {
    stripe: {
      on: {
        paid: defineWebhookBinding<Paid>({
          block: seat,
          input: (event) => {
            typed(event.payload.data.object.id).as<string>(true);
            return event.headers.get("x-id");
          },
          sessionId: async (event) => event.payload.data.object.id,
          when: (event) => event.deliveryId !== undefined,
        }),
      },
    },
  },
  chat: { on: { mention: { block: one, input: (event: { text: string }) => event.text } } },
  schedules: {
    static: {
      nightly: { cron: "0 3 * * *", block: one, input: { pages: 1 }, onOverlap: "allow", timezone: "UTC" },
      hourly: defineScheduleBinding({ cron: "@hourly", block: one, input: (tick: { cron: string }) => tick.cron }),
    },
  },
});

flow({ config: { size: 3 } });

export const older = defineFlow({
  kind: "older-entries",
  actions: { go: { block: background } },
  internal: { tidy: { block: one } },
  tasks: { work: { block: one } },
});

// @ts-expect-error What other hosts serve belongs to the definition.
flow({ webhooks: {} });
// @ts-expect-error A schedule has times.
defineScheduleBinding({ block: one });
// @ts-expect-error A webhook's event is mapped.
defineWebhookBinding({ block: one });
// @ts-expect-error There are two ways for a schedule that is still in progress.
defineScheduleBinding({ cron: "@hourly", block: one, onOverlap: "queue" });
// @ts-expect-error A block cannot stand in for a person.
dispatcher({ name: "d", type: "public", target: "go", session: { from: true } });
