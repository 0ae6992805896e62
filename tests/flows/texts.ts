/**
 * Texts from files of the project: of resources, and prompts of generators.
 */

import { defineFlow, defineResource, defineResourceCollection, generator, handler } from "@flow-state-dev/core";
import { createPromptLoader, definePromptFile, loadPromptFile } from "@flow-state-dev/core/prompt-file";
import { loadResourceTemplate } from "@flow-state-dev/core/resource-template";
import { z } from "zod";
import * as one from "./texts/one/prompts";
import * as two from "./texts/two/prompts";

const stateSchema = z.object({ title: z.string().default("Untitled"), summary: z.string().default("") });

const body = defineResource({ scope: "session", stateSchema: z.object({}), contentFile: "./texts/body.txt" });
const report = defineResource({
  scope: "session",
  stateSchema,
  contentTemplate: loadResourceTemplate("./texts/report.md"),
});
const named = defineResource({
  scope: "session",
  stateSchema,
  contentTemplate: "<system>\n{{ state.title | upcase }}\n</system>",
});
const template = defineResource({ scope: "session", stateSchema: z.object({}), content: "# {{ state.title }}" });
const live = defineResource({ scope: "session", stateSchema, contentTemplateRef: "template" });
const pages = defineResourceCollection({
  pattern: "pages/*",
  scope: "session",
  stateSchema,
  contentTemplate: "{% if state.summary != '' %}{{ state.summary }}{% else %}{{ state.title }}{% endif %}",
});

const read = handler({
  name: "read",
  resources: { body, report, named, template, live, pages },
  execute: async (_input, ctx) => {
    const { resources } = ctx;
    await resources.report.patchState({ title: "Week 1" });
    const before = await resources.live.readContent();
    await resources.template.writeContent("<system>\nNow {{ state.title }}\n</system>");
    const page = await resources.pages.create("a", { title: "A" });
    const first = await page.readContent();
    await page.patchState({ summary: "short" });
    return {
      body: await resources.body.readContent(),
      report: await resources.report.readContent(),
      named: await resources.named.readContent(),
      live: [before, await resources.live.readContent(), await resources.live.readContentRaw()],
      page: [first, await page.readContent()],
    };
  },
});

const wrong = handler({
  name: "wrong",
  resources: { report },
  execute: async (_input, ctx) => {
    await ctx.resources.report.setState({ summary: "only" } as any);
    return ctx.resources.report.readContent();
  },
});

// Placeholders alone; a field may be null, and a list is reached by its places.
const fieldsSchema = z.object({ name: z.string().default("Ada"), note: z.string().nullable().default(null), tags: z.array(z.string()).default(["x", "y"]), n: z.number().default(1) });
const filled = (contentTemplate: string) => defineResource({ scope: "session", stateSchema: fieldsSchema, contentTemplate });
const card = filled("{{name}}{{ note }} {{tags}} {{tags.1}} {{n}} {{open");
const lacking = filled("{{name}} {{nobody.there}}");
const otherLanguage = filled("{{#each tags}}- {{this}}\n{{/each}}");
const fields = handler({
  name: "fields",
  resources: { card, lacking, otherLanguage },
  execute: async (_input, ctx) => {
    const failed = async (resource: any) => resource.readContent().catch((error: any) => [error.name, error.message]);
    return [await ctx.resources.card.readContent(), await failed(ctx.resources.lacking), await ctx.resources.lacking.readContentRaw(), await failed(ctx.resources.otherLanguage)];
  },
});

const inputSchema = z.object({ topic: z.string(), facts: z.array(z.string()).default([]) });
const analyst = generator({
  name: "analyst",
  model: "m",
  inputSchema,
  ...definePromptFile(loadPromptFile("./texts/analyst.prompt.md", undefined, { filters: { doubled: (n) => n * 2 } })),
  sessionStateSchema: z.object({ reader: z.string().default("everybody") }),
});

const load = createPromptLoader("./texts");
const weigher = generator({
  name: "weigher",
  model: "m",
  prompt: load("weigher.prompt.md"),
  context: { thesis: "It rises.", riskAssessment: () => "High" },
  user: "Weigh.",
});

// Modules whose files have the same names: each gets its own.
const folders = handler({
  name: "folders",
  execute: (_input, ctx) => Promise.all([one.loaded, one.beside, two.loaded, two.beside].map((file) => file.prompt({}, ctx))),
});

export default defineFlow({
  kind: "texts",
  actions: {
    read: { block: read },
    wrong: { block: wrong },
    fields: { block: fields },
    analyst: { block: analyst },
    weigher: { block: weigher },
    folders: { block: folders },
  },
});
