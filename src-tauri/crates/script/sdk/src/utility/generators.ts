// Utilities that ask a model for something of a known shape: a generator each, with its prompt and its schema.

import { z } from 'zod';
import { describeValue } from '../base/arguments';
import { generator, type Block, type Config } from '../define/blocks';
import { warnOfOthers } from '../define/nested-keys';

/** What a model is asked by default. It is looked up in `flowglass.json` like every name of a model. */
export const UTILITY_MODEL = 'intent/utility';

/** Settings that reach the generator as they are. */
const PASSED = [
  'description',
  'context',
  'history',
  'tools',
  'agentType',
  'itemVisibility',
  'agentName',
  'transient',
  'uses',
  'repair',
  'retry',
  'rescue',
  'maxTokens',
  'providerOptions',
  'inputSchema',
  'connectInput',
];

/** Settings that a utility reads itself, whichever it is. */
const OWN = ['name', 'model', 'outputSchema', 'user', 'granularity', 'objectives', 'mode', 'criteria', 'categories'];

export function userContent(input: unknown): string {
  return typeof input === 'string' ? input : (JSON.stringify(input, null, 2) ?? '');
}

/** A generator that answers in one shape. */
export function asking(config: Config, prompt: string[], schema: unknown, model = UTILITY_MODEL): Block {
  warnOfOthers(config, [...PASSED, ...OWN], `utility "${String(config.name)}"`, 'setting of it');
  const passed = Object.fromEntries(PASSED.filter((key) => config[key] !== undefined).map((key) => [key, config[key]]));
  return generator({
    ...passed,
    name: config.name,
    model: config.model ?? model,
    outputSchema: config.outputSchema ?? schema,
    prompt: [...prompt, 'Answer only with what the schema asks for.'].join('\n'),
    user: config.user ?? userContent,
  });
}

function listed(title: string, given: unknown): string[] {
  if (given === undefined) return [];
  const list = Array.isArray(given) ? (given as unknown[]) : [given];
  return [title, ...list.map((one, at) => `${at + 1}. ${String(one)}`)];
}

function oneOf<K extends string>(given: unknown, known: Record<K, unknown>, first: K, what: string): K {
  if (given === undefined) return first;
  if (typeof given === 'string' && given in known) return given as K;
  throw new Error(`${what} is one of ${Object.keys(known).join(', ')}, not ${describeValue(given)}`);
}

export const summarizerOutputSchema = z.object({ summary: z.string(), keyPoints: z.array(z.string()).optional() });

const GRANULARITIES = {
  brief: 'One or two sentences with the one thing that matters.',
  detailed: 'A paragraph that keeps what is needed to understand it, with its nuances.',
  executive: 'The decisions, and what to do next.',
};

export function summarizer(config: Config): Block {
  const granularity = oneOf(config.granularity, GRANULARITIES, 'brief', `utility.summarizer: granularity`);
  const focus = listed('Give weight to:', config.objectives);
  return asking(config, ['Summarize the input.', GRANULARITIES[granularity], ...focus], summarizerOutputSchema);
}

export const contextReducerDistillOutputSchema = z.object({ distilled: z.string(), keyPoints: z.array(z.string()) });
export const contextReducerDenoiseOutputSchema = z.object({
  cleaned: z.string(),
  removedCategories: z.array(z.string()).optional(),
});
export const contextReducerCompressOutputSchema = z.object({
  compressed: z.string(),
  compressionRatio: z.number().optional(),
  dropped: z.array(z.string()).optional(),
});

const REDUCTIONS = {
  distill: {
    prompt: 'Keep the ideas that carry the most, in words of your own.',
    schema: contextReducerDistillOutputSchema,
  },
  denoise: {
    prompt: 'Take out what repeats, wanders off or fills; keep the intent, the order and the wording of the rest.',
    schema: contextReducerDenoiseOutputSchema,
  },
  compress: {
    prompt: 'Make it as short as it can be, and say what was dropped.',
    schema: contextReducerCompressOutputSchema,
  },
};

export function contextReducer(config: Config): Block {
  const { prompt, schema } = REDUCTIONS[oneOf(config.mode, REDUCTIONS, 'distill', 'utility.contextReducer: mode')];
  return asking(config, ['Reduce the context that you are given.', prompt], schema);
}

export const memoryExtractorTypeSchema = z.enum(['fact', 'preference', 'constraint', 'decision']);
export const memoryCandidateSchema = z.object({
  type: memoryExtractorTypeSchema,
  content: z.string(),
  confidence: z.number().min(0).max(1).optional(),
  source: z.string().optional(),
});
export const memoryExtractorOutputSchema = z.object({ memories: z.array(memoryCandidateSchema) });

export function memoryExtractor(config: Config): Block {
  const prompt = [
    'List what of this conversation is worth knowing in later ones.',
    'Each entry is a fact, a preference, a constraint or a decision. Leave out what holds only for now.',
    'Add nothing that was not said; where there is nothing to keep, the list is empty.',
  ];
  return asking(config, prompt, memoryExtractorOutputSchema);
}

export const decomposerTaskSchema = z.object({
  id: z.string(),
  title: z.string().nullable(),
  goal: z.string(),
  context: z.string().nullable(),
  deps: z.array(z.string()).optional(),
  priority: z.enum(['high', 'medium', 'low']).optional(),
});
export const decomposerOutputSchema = z.object({ tasks: z.array(decomposerTaskSchema) });

export function decomposer(config: Config): Block {
  const prompt = [
    'Split the request into tasks that can be done one by one, without asking anybody back.',
    'Where it leaves something open, assume what is most likely meant.',
    'Each task has an id of its own and a goal, and a short `title` for people, or null.',
    '`context` holds the facts of the request that the task needs and its goal leaves out, or null.',
    ' `deps` names the tasks whose results it needs, and no others.',
    'A task stands after those it needs.',
  ];
  return asking(config, prompt, decomposerOutputSchema);
}

export const composerOutputSchema = z.object({ composed: z.string(), structure: z.array(z.string()).optional() });

/** What is meant for the reader of the conversation, where nothing else is said. */
function spoken(config: Config): Config {
  const speaks = ['agentType', 'itemVisibility'].some((key) => config[key] !== undefined);
  return speaks ? config : { ...config, itemVisibility: { client: true, history: true } };
}

export function composer(config: Config): Block {
  const prompt = ['Put the parts together into one whole, in the order and within the limits that come with them.'];
  return asking(spoken(config), [...prompt, ...listed('Mind:', config.objectives)], composerOutputSchema);
}

export const synthesizerOutputSchema = z.object({ synthesis: z.string(), rationale: z.array(z.string()) });

export function synthesizer(config: Config): Block {
  const prompt = [
    'Make one text of several that overlap or disagree.',
    'Say once what several say. Where they contradict each other, decide, and give the reason in `rationale`.',
    ...listed('Give weight to:', config.objectives),
  ];
  return asking(spoken(config), prompt, synthesizerOutputSchema, 'intent/synthesize');
}

export const analyzerFindingSchema = z.object({
  criterion: z.string(),
  assessment: z.string(),
  severity: z.enum(['critical', 'warning', 'info']).optional(),
  evidence: z.string().optional(),
});
export const analyzerOutputSchema = z.object({
  findings: z.array(analyzerFindingSchema),
  score: z.number().optional(),
  recommendation: z.string().optional(),
});

export function analyzer(config: Config): Block {
  const { criteria = ['quality', 'risk', 'coverage', 'confidence'] } = config;
  if (!Array.isArray(criteria) || criteria.length === 0) {
    throw new TypeError(`utility.analyzer: criteria must be an array of texts, got ${describeValue(criteria)}`);
  }
  const prompt = ['Judge the input by each criterion, with its evidence.', ...listed('Criteria:', criteria)];
  return asking(config, prompt, analyzerOutputSchema);
}
