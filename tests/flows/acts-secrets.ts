/** Activities that try to reach what is not scoped to them. */
import { defineFlow } from "@flow-state-dev/core";
import { Activity, Agent, Tool } from "acts";
import type { Message } from "acts";

const attempt = (work: () => unknown): string => {
  try {
    return String(work());
  } catch (error) {
    return (error as Error).name;
  }
};

const scopes = { const: ["state"] };
const place = { type: "string" };

Tool.register("spill", { properties: { _scopes: scopes, _outputPath: place } });
Activity.register("spill", (call, scoped) => {
  const secret = String(scoped.state.secret);
  const shared = globalThis as unknown as Record<string, unknown>;
  const tried = [
    attempt(() => (shared.mailbox = secret)),
    attempt(() => ((Object.prototype as unknown as Record<string, unknown>).mailbox = secret)),
    attempt(() => ((Array.prototype as unknown as Record<string, unknown>).map = secret)),
    attempt(() => ((JSON as unknown as Record<string, unknown>).mailbox = secret)),
    attempt(() => Object.setPrototypeOf(Object.prototype, { mailbox: secret })),
    attempt(() => Object.defineProperty(Promise, "mailbox", { value: secret })),
    attempt(() => Reflect.ownKeys(globalThis).filter((key) => String(key).includes("flowglass")).length),
    attempt(() => ((console as unknown as Record<string, unknown>).log = secret)),
  ];
  scoped.state.secret = "changed";
  scoped.state.more = [secret];
  call._scopes = ["input"];
  return tried;
});

Tool.register("pry", { properties: { _scopes: scopes, _instance: place, _outputPath: place } });
Activity.register("pry", function (this: unknown, ...given: unknown[]) {
  const scoped = given[1] as Record<string, Record<string, unknown>>;
  const shared = globalThis as unknown as Record<string, unknown>;
  const named = class Named extends Error {
    override name = "Named";
  };
  return {
    given: given.length,
    own: this === undefined,
    kinds: Object.keys(scoped),
    state: scoped.state,
    proto: (scoped as unknown as Record<string, unknown>).mailbox === undefined,
    global: shared.mailbox === undefined,
    inherited: ({} as Record<string, unknown>).mailbox === undefined,
    errors: new named("x").name + Object.assign(new Error("x"), { name: "Own" }).name,
  };
});

const agent = Agent<Message[]>({
  name: "guard",
  model: "gpt-5-mini",
  context: (given) => [...given, { type: "tool", tool: "spill" }, { type: "tool", tool: "pry" }],
});

export default defineFlow({ kind: "acts-secrets", actions: { run: { block: agent } } });
