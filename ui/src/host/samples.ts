// The workspace of the recorded host: its flows with their schemas, and enough sessions to page through.
import type { FlowRow, ListedSession, Workspace } from './host';

const planSchema = {
  type: 'object',
  required: ['topic', 'depth', 'tone'],
  additionalProperties: false,
  properties: {
    topic: { type: 'string', minLength: 2, description: 'What the report is about.' },
    depth: { type: 'integer', minimum: 1, maximum: 5, default: 2, description: 'How many rounds of questions.' },
    tone: { type: 'string', enum: ['plain', 'formal', 'friendly'], default: 'plain' },
    includeSources: { type: 'boolean', default: true, description: 'List every page that was read.' },
    temperature: { type: 'number', minimum: 0, maximum: 2 },
    tags: { type: 'array', items: { type: 'string' }, description: 'Words to file the report under.' },
    deadline: {
      anyOf: [{ type: 'string', format: 'date' }, { type: 'null' }],
      description: 'Null means whenever it is ready.',
    },
    budget: {
      type: 'object',
      required: ['currency'],
      properties: {
        amount: { type: 'number', minimum: 0 },
        currency: { type: 'string', enum: ['EUR', 'USD'], default: 'EUR' },
      },
    },
    headers: { type: 'object', additionalProperties: { type: 'string' }, description: 'Sent with every search.' },
    extra: { description: 'Anything else, as JSON.' },
  },
};

export const flows: FlowRow[] = [
  {
    kind: 'chat',
    file: 'flows/chat.ts',
    hasMock: true,
    actions: [
      {
        name: 'send',
        description: 'Answer one message of a conversation.',
        inputSchema: { type: 'string', minLength: 1, description: 'What the person says.' },
        root: {
          name: 'chat',
          kind: 'sequencer',
          steps: [
            { op: 'step', label: 'classify', blocks: [{ name: 'classify', kind: 'router' }] },
            { op: 'step', label: 'remember', blocks: [{ name: 'remember', kind: 'handler' }] },
          ],
        },
      },
    ],
  },
  {
    kind: 'research',
    file: 'flows/research.ts',
    hasMock: true,
    actions: [
      {
        name: 'plan',
        description: 'Research a topic and write a short report with sources.',
        inputSchema: planSchema,
        root: { name: 'plan', kind: 'sequencer', steps: [] },
      },
      {
        name: 'review',
        description: 'Check a finished report again.',
        inputSchema: { type: 'object', properties: {} },
        root: { name: 'review', kind: 'handler' },
      },
    ],
  },
  {
    kind: 'stress',
    file: 'flows/stress.ts',
    hasMock: false,
    actions: [
      {
        name: 'fan',
        description: 'Do many small parts, to see how the window copes.',
        inputSchema: {
          type: 'object',
          properties: {
            blocks: { type: 'integer', default: 10_000, minimum: 1 },
            characters: { type: 'integer', default: 1_000_000 },
          },
        },
        root: { name: 'fan', kind: 'sequencer', steps: [] },
      },
    ],
  },
  {
    kind: 'triage',
    file: 'flows/triage.ts',
    hasMock: false,
    actions: [],
    error: { message: "Expected ',' or '}' after this property", file: 'flows/triage.ts', line: 15, column: 3 },
  },
];

export const sources: Record<string, string> = {
  'flows/chat.ts': [
    "import { defineFlow, generator, handler, router, sequencer } from '@flow-state-dev/core';",
    "import { z } from 'zod';",
    '',
    "const answer = generator({ name: 'answer', model: 'gpt-5-mini', agentType: 'primary' });",
    "const classify = router({ name: 'classify', routes: [answer], execute: () => answer });",
    '',
    'const remember = handler({',
    "  name: 'remember',",
    '  execute: async (input, ctx) => {',
    '    await ctx.user.patchState({ lastQuestion: input });',
    '    return { saved: true };',
    '  },',
    '});',
    '',
    'export default defineFlow({',
    "  kind: 'chat',",
    "  actions: { send: { inputSchema: z.string().min(1), block: sequencer({ name: 'chat' }).step(classify).step(remember) } },",
    '});',
    '',
  ].join('\n'),
  'flows/triage.ts': [
    "import { defineFlow, handler, sequencer } from '@flow-state-dev/core';",
    "import { z } from 'zod';",
    '',
    'const sort = handler({',
    "  name: 'sort',",
    '  inputSchema: z.object({ subject: z.string() }),',
    '  execute: async (mail, ctx) => {',
    '    await ctx.session.patchState({ last: mail.subject });',
    "    return mail.subject.startsWith('Re:') ? 'reply' : 'new';",
    '  },',
    '});',
    '',
    'export default defineFlow({',
    "  kind: 'triage'",
    "  actions: { sort: { block: sequencer({ name: 'triage' }).step(sort) } },",
    '});',
    '',
  ].join('\n'),
};

const STATUSES = ['completed', 'completed', 'failed', 'completed', 'suspended', 'interrupted', 'aborted'] as const;

/** Older sessions without recorded requests, so that search and paging have something to work on. */
export function olderSessions(total: number, now: number): ListedSession[] {
  return Array.from({ length: total }, (_, n) => ({
    id: `ses-old-${String(total - n).padStart(3, '0')}`,
    flow: n % 3 ? 'chat' : 'research',
    userId: n % 4 ? 'ada' : 'grace',
    projectId: null,
    title: n % 3 ? `Question ${total - n}` : null,
    requests: 0,
    items: n % 9,
    lastStatus: STATUSES[n % 7] ?? 'completed',
    createdAt: now - (n + 2) * 5_400_000,
    updatedAt: now - (n + 1) * 5_400_000,
    forkedFrom: null,
    lastRequest: '',
    lastAction: n % 3 ? 'send' : 'plan',
    words: n % 2 ? `What is the ${total - n}. thing to know?` : null,
  }));
}

export const workspace: Workspace = {
  dir: '/home/ada/flows',
  name: 'flows',
  dataFile: '.flowglass/flowglass.db',
  version: '0.1.0',
  users: ['ada', 'grace'],
  projects: ['apollo'],
  isTrusted: true,
  hosts: [],
  unwritable: null,
};
