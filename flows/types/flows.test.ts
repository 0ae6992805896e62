/**
 * Flows, their actions and instances, and the globals a flow has.
 *
 * There is nothing to run; `npm run check` is the test. It is not a flow, because it has no default export.
 */

import { defineFlow, defineResource, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
import { z as z4 } from "zod/v4";
import { typed } from "./expect.js";

const sized = z.object({ n: z.number().default(1), s: z.string() });
const counts = z.object({ n: z.number(), label: z.string() });
const size = handler({ name: "size", inputSchema: sized, execute: (input) => input.s.length });
const number = handler({ name: "number", inputSchema: z.number(), execute: (input) => input });
const loose = handler({ name: "loose", execute: (input) => input });
const notes = defineResource({ scope: "user", stateSchema: z.object({ list: z.array(z.string()) }) });

// Everything a flow can say.

const flow = defineFlow({
  kind: "flow",
  description: "Everything at once",
  request: {
    stateSchema: z.object({ stage: z.string().optional() }),
    onStarted: loose,
    onErrored: (error, ctx) => ctx.emitStatus(String(error)),
    mutationTimeoutMs: Infinity,
    cleanupCheckpointsOnTerminal: true,
    concurrency: { policy: "queue", key: ({ userId, actionName }) => `${userId}/${actionName}` },
  },
  session: {
    stateSchema: counts,
    client: {
      expose: ["n"],
      derived: { half: ({ state }) => state.n / 2, listed: async ({ resources }) => resources.notes.state.list },
    },
    metadata: z.object({ title: z.string() }),
    retention: { maxItems: 100, maxAge: "7d" },
    historyWindow: { turns: 20 },
    cas: { maxRetries: 5, baseDelayMs: 1 },
  },
  user: {
    stateSchema: z4.object({ label: z4.string() }),
    clientData: { label: ({ state }) => state.label.toUpperCase() },
  },
  org: { stateSchema: z.object({ seats: z.number() }) },
  resources: { notes },
  tools: { defaults: { concurrency: "serial", timeoutMs: 10 }, onToolCompleted: ({ output }) => output },
  authentication: { requireUser: true, defaultUserId: "me" },
  tokenCounter: { count: (text) => text.length, countMessages: async (messages) => messages.length },
  costEstimator: { estimate: (usage, model) => (usage.totalTokens * model.length) / 1_000_000 },
  isolateUserState: true,
  isolateProjectState: false,
  middleware: [],
  actions: {
    one: { block: size, userMessage: (input) => input.s, description: "Measures", onCompleted: loose },
    two: { steps: number, inputSchema: z.number(), userMessage: (input) => input.toFixed(), concurrency: "queue" },
    three: { block: loose, durable: true, tokenBudget: { maxTotalTokens: 1000, warnAt: 0.8, onExceeded: "stop" } },
    four: { block: size, inputSchema: sized, userMessage: (input) => input.n.toFixed(), mcp: { enabled: true } },
    five: { block: sequencer({ name: "five", inputSchema: z.string() }).map((text) => text.length) },
  },
});

// Instances replace some settings, and may have more actions.

const instance = flow({ id: "other", actions: { one: { description: "Measures again" }, six: { block: loose } } });
typed(instance.kind).as<string>(true);
instance({ isolateUserState: false }).actions.one.description;
// An instance of another kind is a flow of its own.
flow({ kind: "another" });
// @ts-expect-error How many instances there are is said once, by the definition.
flow({ cardinality: "singleton" });
// @ts-expect-error A setting that actions do not have.
flow({ actions: { one: { descripton: "Measures" } } });

// Mistakes.

// @ts-expect-error A flow has a name.
defineFlow({ actions: { one: { block: loose } } });
// @ts-expect-error A misspelt scope is found.
defineFlow({ kind: "flow", sesion: { stateSchema: counts } });
// @ts-expect-error Only declared fields can be exposed.
defineFlow({ kind: "flow", session: { stateSchema: counts, client: { expose: ["m"] } } });
// @ts-expect-error A projection sees declared fields only.
defineFlow({ kind: "flow", session: { stateSchema: counts, client: { derived: { m: ({ state }) => state.m } } } });
// @ts-expect-error An action's input has to suit its block.
defineFlow({ kind: "flow", actions: { one: { block: number, inputSchema: z.string() } } });
// @ts-expect-error An action runs a block, not a function.
defineFlow({ kind: "flow", actions: { one: { block: () => 1 } } });
// @ts-expect-error An action has one root.
defineFlow({ kind: "flow", actions: { one: { block: loose, steps: loose } } });
// @ts-expect-error And it has to have one.
defineFlow({ kind: "flow", actions: { one: { description: "Nothing" } } });
// @ts-expect-error There are three ways to treat requests at the same time.
defineFlow({ kind: "flow", actions: { one: { block: loose, concurrency: "debounce" } } });
// @ts-expect-error A request has no resources.
defineFlow({ kind: "flow", request: { resources: {} } });
// @ts-expect-error A resource of a flow names its scope, unless it stands under one.
defineFlow({ kind: "flow", resources: { notes: { stateSchema: counts } } });

// Globals: what a flow has, and what it has not.

typed(crypto.randomUUID()).as<string>(true);
typed(crypto.getRandomValues(new Uint8Array(4))).as<Uint8Array<ArrayBuffer>>(true);
typed(new URL("https://example.com/?a=1").searchParams.get("a")).as<string | null>(true);
typed(new TextDecoder().decode(new TextEncoder().encode("a"))).as<string>(true);
typed(structuredClone({ a: [1] })).as<{ a: number[] }>(true);
typed(new AbortController().signal.aborted).as<boolean>(true);
clearTimeout(setTimeout(console.log, 10, "later"));
queueMicrotask(() => console.trace("soon"));
export const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
export const load = async (signal: AbortSignal) =>
  (await fetch(new URL("https://example.com"), { method: "POST", headers: new Headers({ a: "b" }), signal })).json();
// @ts-expect-error There is no DOM.
document;
// @ts-expect-error Nor a window around it.
window;
export const region: string | undefined = process.env.REGION;
export const bytes: string = Buffer.from("a").toString("base64url");
// @ts-expect-error Modules are imported.
require("zod");
