/**
 * A tool without a model: `asTool` makes a step that leaves what a tool call leaves.
 */

import { defineFlow, FlowError, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const add = handler({
  name: "add",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => ({ sum: a + b }),
  onCompleted: (_output, ctx) => ctx.session.incState({ completed: 1 }),
});
const broken = handler({ name: "broken", execute: () => { throw new FlowError("the tool broke", { code: "tool_broke" }); } });
const chain = (name: string) => sequencer({ name, inputSchema: z.any() });

export default defineFlow({
  kind: "tools-as-steps",
  session: { stateSchema: z.object({ completed: z.number().default(0) }) },
  actions: {
    add: { block: chain("outer").step(add.asTool({ agentName: "calculator" })) },
    hidden: { block: chain("outer").step(add.asTool({ agentType: "trace" })) },
    renamed: {
      block: chain("outer")
        .step(add.as({ name: "plus", description: "Adds" }).asTool())
        .step(sequencer({ name: "old", inputSchema: z.any() }).map((value: any) => value.sum).as({ name: "new" })),
    },
    broken: { block: chain("outer").step(broken.asTool()) },
  },
});
