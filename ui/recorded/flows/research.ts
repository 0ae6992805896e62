// A report that is planned, researched beside each other, written section by section and handed over, for the page's
// recorded host. With the topic `fail` the second section is found wrong.
import { defineFlow, FlowError, generator, handler, sequencer } from '@flow-state-dev/core';
import { z } from 'zod';

const planInput = z
  .object({
    topic: z.string().min(2).describe('What the report is about.'),
    depth: z.number().int().min(1).max(5).default(2).describe('How many rounds of questions.'),
    tone: z.enum(['plain', 'formal', 'friendly']).default('plain'),
    includeSources: z.boolean().default(true).describe('List every page that was read.'),
    temperature: z.number().min(0).max(2).optional(),
    tags: z.array(z.string()).optional().describe('Words to file the report under.'),
    deadline: z.string().nullable().optional().describe('Null means whenever it is ready.'),
    budget: z
      .object({ amount: z.number().min(0).optional(), currency: z.enum(['EUR', 'USD']).default('EUR') })
      .optional(),
    headers: z.record(z.string()).optional().describe('Sent with every search.'),
    extra: z.any().optional().describe('Anything else, as JSON.'),
  })
  .strict()
  .refine(({ topic }) => topic !== 'nothing', {
    message: 'There is nothing to research about nothing.',
    path: ['topic'],
  });

const planState = z.object({
  topic: z.string().default(''),
  plan: z.array(z.object({ title: z.string(), done: z.boolean() })).default([]),
});

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

const begin = handler({
  name: 'begin',
  sequencerStateSchema: planState,
  requestStateSchema: z.object({ topic: z.string().default('') }),
  execute: async ({ topic }, ctx) => {
    await ctx.request.patchState({ topic });
    await ctx.sequencer.patchState({ topic });
  },
});

const outline = generator({
  name: 'outline',
  model: 'gpt-5-mini',
  agentType: 'sub',
  prompt: ({ topic }) => `Three questions about ${topic}.`,
});

const keepPlan = handler({
  name: 'keepPlan',
  sequencerStateSchema: planState,
  execute: async (_input, ctx) => {
    const plan = ['Habitat', 'Needs', 'Changes'].map((title) => ({ title, done: false }));
    await ctx.sequencer.patchState({ plan });
  },
});

const searchWeb = handler({
  name: 'searchWeb',
  sessionStateSchema: z.object({ sources: z.array(z.string()).default([]), words: z.number().default(0) }),
  execute: async (_input, ctx) => {
    ctx.emit.status('Searching the web…');
    await pause(60);
    ctx.emit.component('Sources', { pages: ['https://example.org/habitats'] });
    await ctx.session.pushState('sources', 'https://example.org/habitats');
    return { hits: 12 };
  },
});

const searchLibrary = handler({
  name: 'searchLibrary',
  retry: { maxAttempts: 2, baseDelayMs: 20 },
  execute: async (_input, ctx) => {
    await pause(20);
    if (ctx.attempt === 0)
      throw new FlowError('The library did not answer in time.', { code: 'timeout', retryable: true });
    return { hits: 3 };
  },
});

const readNotes = handler({ name: 'readNotes', execute: () => ['Asked about the same topic in May.'] });

const cite = handler({
  name: 'cite',
  description: 'Finds where a sentence can be read',
  inputSchema: z.object({ section: z.string(), most: z.number() }),
  execute: async ({ section }) => ({ citations: [`${section} (2021)`, `${section} revisited (2024)`] }),
});

const write = generator({
  name: 'write',
  model: 'gpt-5-mini',
  agentType: 'primary',
  prompt: ({ title }) => `Write about ${title}.`,
  tools: [cite],
});

const check = handler({
  name: 'check',
  sequencerStateSchema: planState,
  sessionStateSchema: z.object({ sources: z.array(z.string()).default([]), words: z.number().default(0) }),
  execute: async (title, ctx) => {
    if (ctx.request.state.topic === 'fail' && title === 'Needs')
      throw new FlowError('plan[1].done: expected boolean, received string "yes"', {
        code: 'invalid_state',
        details: { expected: 'boolean' },
      });
    await ctx.session.incState({ words: 27 });
    return { title, ok: true };
  },
});

const section = sequencer({ name: 'section', inputSchema: z.string() })
  .tap((title) => ({ title, words: 120 }), write)
  .step(check);

const report = handler({
  name: 'report',
  userStateSchema: z.object({ reports: z.number().default(0) }),
  projectStateSchema: z.object({ lastReport: z.any().optional() }),
  execute: async (sections, ctx) => {
    const { topic } = ctx.request.state;
    ctx.emit.component('Report', { title: `About ${topic}`, sections: sections.length });
    await ctx.user.incState({ reports: 1 });
    if (ctx.project) await ctx.project.patchState({ lastReport: { topic, words: 81 } });
    return { title: `About ${topic}`, words: 81 };
  },
});

export default defineFlow({
  kind: 'research',
  actions: {
    plan: {
      description: 'Research a topic and write a short report with sources.',
      inputSchema: planInput,
      block: sequencer({ name: 'plan', inputSchema: planInput, stateSchema: planState })
        .tap(begin)
        .step(outline)
        .tap(keepPlan)
        .parallel({ web: searchWeb, library: searchLibrary, notes: readNotes })
        .map(() => ['Habitat', 'Needs', 'Changes'])
        .forEach(section, { maxConcurrency: 1 })
        .step(report),
    },
    review: {
      description: 'Check a finished report again.',
      inputSchema: z.object({}),
      block: handler({ name: 'review', execute: () => ({ ok: true }) }),
    },
  },
});
