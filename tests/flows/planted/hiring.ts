/** Applications from a web form: the form is read, screened by rules, and the candidate gets a letter. */
import { defineFlow, generator, handler, router, sequencer } from "@flow-state-dev/core";
import { z } from "zod";

/** A browser sends every field of the form as a text. */
const form = z.object({
  name: z.string(),
  years: z.string(),
  skills: z.string(),
  needsVisa: z.enum(["true", "false"]),
});

const application = z.object({
  name: z.string(),
  years: z.coerce.number(),
  skills: z.array(z.string()),
  needsVisa: z.coerce.boolean(),
});

const readForm = handler({
  name: "read-form",
  inputSchema: form,
  execute: (fields) => application.parse({ ...fields, skills: fields.skills.split(",").map((skill) => skill.trim()) }),
});

const letter = (name: string, prompt: string) =>
  generator({
    name,
    model: "gpt-5-mini",
    agentType: "primary",
    inputSchema: application,
    prompt,
    user: (candidate) => `${candidate.name}, ${candidate.years} years of ${candidate.skills.join(" and ")}`,
  });

const invite = letter("invite", "Invite the candidate to a first interview.");
const declineVisa = letter("decline-visa", "Say kindly that the company cannot sponsor a visa.");
const declineSkills = letter("decline-skills", "Say kindly that the company looks for more experience.");

const screen = router({
  name: "screen",
  inputSchema: application,
  routes: [invite, declineVisa, declineSkills],
  execute: (candidate) => {
    if (candidate.needsVisa) return declineVisa;
    return candidate.years >= 3 ? invite : declineSkills;
  },
});

export default defineFlow({
  kind: "hiring",
  actions: {
    apply: { inputSchema: form, block: sequencer({ name: "apply", inputSchema: form }).step(readForm).step(screen) },
  },
});
