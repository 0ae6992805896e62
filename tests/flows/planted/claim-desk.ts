/** Claims of an insurance: one model judges a claim for the staff, another one writes to the customer. */
import { defineFlow, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

const claim = z.object({ number: z.string(), text: z.string().min(1), eur: z.number() });

const assessor = generator({
  name: "assessor",
  model: "gpt-5-mini",
  agentType: "sub",
  agentName: "assessment",
  inputSchema: claim,
  prompt: "Judge for the staff how likely it is that this claim is invented, from 0 to 100, and what to do.",
  user: ({ text, eur }) => `${text}\nClaimed: ${eur} EUR`,
});

const fileNote = handler({
  name: "file-note",
  inputSchema: z.object({ assessment: z.string(), claim }),
  execute: async ({ assessment, claim: given }, ctx) => {
    await ctx.session.appendJournal({ text: assessment, source: "assessor", tags: [given.number] });
    return given;
  },
});

const keepClaim = handler({ name: "keep-claim", inputSchema: claim, execute: (given) => given });

const clerk = generator({
  name: "clerk",
  model: "gpt-5-mini",
  agentType: "primary",
  inputSchema: claim,
  prompt: "Confirm to the customer that the claim has arrived. Promise nothing.",
  user: ({ number, text }) => `Claim ${number}: ${text}`,
});

export default defineFlow({
  kind: "claim-desk",
  actions: {
    claim: {
      inputSchema: claim,
      userMessage: ({ text }) => text,
      block: sequencer({ name: "take-claim", inputSchema: claim })
        .parallel({ assessment: assessor, claim: keepClaim })
        .step(fileNote)
        .step(clerk),
    },
  },
});
