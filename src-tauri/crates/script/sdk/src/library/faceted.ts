// defineFacetedCollection: a collection whose texts are classified when they are written, and searched by the answers
// without asking a model again (SEMANTICS §4.10).
//
// It is built of what authors have, too: a collection with a reaction, an evaluator, and two blocks.
//
// Must not: keep an answer about a text that is no longer there. A write clears the facets first and leaves a mark; only
// an answer to that mark is kept.

import { z } from 'zod';
import { describeValue } from '../base/arguments';
import { isSchema, shapeOf } from '../base/schema';
import { handler, type Block, type Config } from '../define/blocks';
import { assertEvaluatorBlock, staticQuestions } from '../define/evaluator';
import type { Question, Questions } from '../define/evaluation';
import { resourceContentChangeSchema } from './change-schemas';
import { defineResourceCollection, type Definition } from '../define/resources';
import { sequencer } from '../define/sequencer';

interface Row {
  key: string;
  path: string;
  state: Config;
  patchState(fields: object): Promise<unknown>;
  updateState(next: (state: Config) => Config): Promise<unknown>;
  readContent(): Promise<string | null>;
}
interface Rows {
  get(key: string): Promise<Row>;
  getOptional(key: string): Promise<Row | undefined>;
  list(): Promise<Row[]>;
}
type Ctx = { resources: Record<string, Rows | undefined>; parent: { input: Stamp } };
/** A text that was written, and the mark it left. */
interface Stamp {
  key: string;
  token: string;
  body: string;
}
type Stored = { choice?: unknown; confidence?: number };

const RESERVED = ['facets', 'indexedAs'];

type Refuse = (message: string) => never;

export interface FacetedCollection {
  collection: Definition;
  search: Block;
  reindex: Block;
  resources: Record<string, unknown>;
}

export function defineFacetedCollection(config: Config): FacetedCollection {
  const { name, evaluator, stateSchema, reactTo, ...rest } = config;
  const questions = check(config);
  const key = name as string;
  const asked = evaluator as Block;
  const choices = Object.entries(questions).filter(([, one]) => one.type === 'choice');
  const rowsOf = (ctx: Ctx): Rows => {
    const rows = ctx.resources[key];
    if (rows) return rows;
    throw new Error(
      `defineFacetedCollection "${key}": no collection is registered under "${key}"; pass the returned resources to defineFlow`,
    );
  };

  const mark = handler({
    name: `${key}-clear-facets`,
    inputSchema: resourceContentChangeSchema(),
    execute: (async (change: { key: string }, ctx: Ctx): Promise<Stamp> => {
      const row = await rowsOf(ctx).get(change.key);
      const token = (globalThis as unknown as { crypto: { randomUUID(): string } }).crypto.randomUUID();
      await row.patchState({ facets: null, indexedAs: token });
      return { key: change.key, token, body: (await row.readContent()) ?? '' };
    }) as never,
  });
  const keep = handler({
    name: `${key}-store-facets`,
    execute: (async ({ answers }: { answers: Config }, ctx: Ctx) => {
      const { key: at, token } = ctx.parent.input;
      const row = await rowsOf(ctx).getOptional(at);
      await row?.updateState((state) => (state.indexedAs === token ? { ...state, facets: answers } : state));
    }) as never,
  });
  const classify = sequencer({ name: `${key}-classify`, inputSchema: z.any() })
    .step((stamp: Stamp) => stamp.body, asked)
    .step(keep);
  const index = sequencer({ name: `${key}-index-facets`, inputSchema: resourceContentChangeSchema() })
    .step(mark)
    // Beside the chain: a model that fails does not take the write back.
    .workIf((stamp: Stamp) => stamp.body.trim() !== '', classify);

  const facets = z.object(Object.fromEntries(Object.entries(questions).map(([id, one]) => [id, answerSchema(one)])));
  const extended = (stateSchema as z.AnyZodObject).extend({
    facets: facets.nullable().default(null),
    indexedAs: z.string().nullable().default(null),
  });
  const collection = defineResourceCollection({
    ...rest,
    stateSchema: extended,
    reactTo: { ...(reactTo as Config | undefined), contentUpdated: index },
  });
  const resources = { [key]: collection };

  const query = Object.fromEntries(
    choices.map(([id, { criteria }]) => [id, z.enum(Object.keys(criteria as Config) as [string]).optional()]),
  );
  const search = handler({
    name: `search-${key}`,
    description: `Find ${key} by what was said of them (${choices.map(([id]) => id).join(', ')}); asks no model`,
    inputSchema: z.object({ ...query, minConfidence: z.number().min(0).max(1).optional() }),
    outputSchema: z.object({ keys: z.array(z.string()) }),
    resources,
    execute: (async (wanted: Config, ctx: Ctx) => {
      const rows = await rowsOf(ctx).list();
      const fits = rows.filter(({ state }) => matches(state.facets as Record<string, Stored> | null, wanted));
      return { keys: fits.map((row) => row.key) };
    }) as never,
  });
  const select = handler({
    name: `${key}-select-for-reindex`,
    resources,
    execute: (async ({ force }: { force?: boolean }, ctx: Ctx) => {
      const rows = await rowsOf(ctx).list();
      const due = rows.filter(({ state }) => force === true || state.facets === null || state.facets === undefined);
      return due.map((row) => ({ key: row.key, ref: row.path, kind: 'contentUpdated' }));
    }) as never,
  });
  const reindex = sequencer({ name: `reindex-${key}`, inputSchema: z.object({ force: z.boolean().optional() }) })
    .step(select)
    .forEach(index)
    .map((stamps: Stamp[]) => ({ reindexed: stamps.filter(({ body }) => body.trim() !== '').map((one) => one.key) }));
  return { collection, search, reindex, resources: { ...asked.declaredResources, ...resources } };
}

function matches(facets: Record<string, Stored> | null | undefined, { minConfidence, ...wanted }: Config): boolean {
  if (facets === null || facets === undefined) return false;
  return Object.entries(wanted).every(([id, value]) => {
    if (value === undefined) return true;
    const answer = facets[id];
    if (answer === undefined || answer.choice !== value) return false;
    return minConfidence === undefined || (answer.confidence ?? -1) >= (minConfidence as number);
  });
}

function answerSchema({ type, criteria }: Question): z.ZodTypeAny {
  const confidence = z.number().optional();
  const probabilities = z.record(z.string(), z.number()).optional();
  switch (type) {
    case 'choice': {
      const options = z.enum(Object.keys(criteria as Config) as [string]);
      return z.object({ type: z.literal(type), choice: options, probabilities, confidence });
    }
    case 'score':
      return z.object({ type: z.literal(type), score: z.number(), probabilities, confidence });
    case 'boolean':
      return z.object({ type: z.literal(type), probability: z.number(), confidence });
  }
}

function check(config: Config): Questions {
  const { name, evaluator, stateSchema, pattern, reactTo, client } = config ?? {};
  if (typeof name !== 'string' || name === '') {
    throw new Error(`defineFacetedCollection: name must be the collection's accessor, got ${describeValue(name)}`);
  }
  const refuse: Refuse = (message) => {
    throw new Error(`defineFacetedCollection "${name}": ${message}`);
  };
  assertEvaluatorBlock(evaluator, {
    slot: `defineFacetedCollection "${name}": evaluator`,
    helper: 'evaluator({ name, model, questions })',
    questions: 'a fixed questions object',
  });
  const questions = staticQuestions(evaluator);
  if (questions === undefined) {
    return refuse(`evaluator "${evaluator.name}" computes its questions per call; what is stored needs a fixed set.`);
  }
  if ('minConfidence' in questions) refuse('a question id is "minConfidence", which is an option of the search.');
  if (typeof pattern === 'string' && pattern.includes('[')) {
    refuse(`pattern "${pattern}" has parameters; a changed text is known by its key, so use "tickets/*" or "docs/**".`);
  }
  if ((reactTo as Config | undefined)?.contentUpdated !== undefined) {
    refuse('reactTo.contentUpdated is its own; bind created, stateUpdated or deleted.');
  }
  const content = (client as { content?: Config } | undefined)?.content;
  if (content?.create === true || content?.update === true) {
    refuse('client.content.create and client.content.update are refused: nothing would classify what a client writes.');
  }
  const shape = isSchema(stateSchema) ? shapeOf(stateSchema) : undefined;
  if (!shape || typeof (stateSchema as { extend?: unknown }).extend !== 'function') {
    return refuse(`stateSchema must be a z.object(), got ${describeValue(stateSchema)}.`);
  }
  if (typeof (stateSchema as { _parse?: unknown })._parse !== 'function') {
    refuse('stateSchema must be of zod 3: the fields that are added are.');
  }
  const taken = RESERVED.find((field) => field in shape);
  if (taken) refuse(`stateSchema declares "${taken}", which it adds itself.`);
  checkEvaluator(name, evaluator, refuse);
  return questions;
}

/** Refuses what an evaluator declares that a reaction of the flow would have to do without. */
function checkEvaluator(name: string, { name: called, config, declaredResources }: Block, refuse: Refuse): void {
  const who = `evaluator "${called}"`;
  if (config.flowConfigSchema !== undefined) {
    refuse(`${who} declares a flowConfigSchema, which no flow checks for a reaction; read that setting another way.`);
  }
  for (const [accessor, declared] of Object.entries(declaredResources ?? {})) {
    if (accessor === name) {
      refuse(`${who} declares a resource under "${accessor}", the collection's own accessor; rename one of them.`);
    }
    const { kind, config: given } = declared as Definition;
    if (kind === 'resource' && given.prefetchMode === 'lazy') {
      refuse(`${who} declares "${accessor}" with prefetchMode: 'lazy', which no flow can register; make it 'eager'.`);
    }
  }
}
