/** Reviews a change: a model reads each file, and the author gets the two findings that matter most. */
import { defineFlow, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const file = z.object({ name: z.string(), diff: z.string() });
const change = z.object({ title: z.string(), files: z.array(file).min(1) });
const finding = z.object({
  file: z.string(),
  problem: z.string(),
  severity: z.string().describe("From 0, a matter of taste, to 100, must not be merged"),
});
const SHOWN = 2;

const reviewer = generator({
  name: "reviewer",
  model: "gpt-5-mini",
  inputSchema: file,
  outputSchema: finding,
  prompt: "Name the most severe problem of this file, and how severe it is.",
  user: ({ name, diff }) => `${name}\n${diff}`,
});

const rank = handler({
  name: "rank",
  inputSchema: z.array(finding),
  outputSchema: z.array(finding),
  execute: (findings) => findings.toSorted((one, other) => other.severity.localeCompare(one.severity)),
});

const comment = handler({
  name: "comment",
  inputSchema: z.array(finding),
  execute: (findings, ctx) => {
    const shown = findings.slice(0, SHOWN);
    for (const { file: name, problem } of shown) ctx.emit.message(`${name}: ${problem}`);
    return { comments: shown.map(({ problem }) => problem), left: findings.length - shown.length };
  },
});

const review = sequencer({ name: "review", inputSchema: change })
  .forEach((given) => given.files, reviewer, { maxConcurrency: 1 })
  .step(rank)
  .step(comment);

export default defineFlow({ kind: "code-review", actions: { review: { inputSchema: change, block: review } } });
