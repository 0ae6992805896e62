// Utilities that sort an input into one of several kinds: a generator that says which, and a sequencer that goes there.

import { z } from 'zod';
import { describeValue } from '../base/arguments';
import { handler, needBlock, router, type Block, type Config } from '../define/blocks';
import { sequencer } from '../define/sequencer';
import { asking } from './generators';

interface Refinement {
  addIssue(issue: { code: string; message: string; path: string[] }): void;
}
type Refined = { superRefine(check: (value: unknown, ctx: Refinement) => void): unknown };

/** A schema whose `category` is one of those that are known. */
function withCategory(schema: unknown, categories: string[]): unknown {
  return (schema as Refined).superRefine((value, ctx) => {
    const { category } = (value ?? {}) as { category?: unknown };
    if (typeof category === 'string' && categories.includes(category)) return;
    ctx.addIssue({ code: 'custom', message: `Category must be one of: ${categories.join(', ')}`, path: ['category'] });
  });
}

function categoriesOf(config: Config, what: string): [string, unknown][] {
  const { categories } = config;
  const all = typeof categories === 'object' && categories !== null ? Object.entries(categories) : [];
  if (all.length < 2) throw new Error(`${what} requires at least 2 categories in the "categories" map`);
  return all;
}

export function intentClassifier(config: Config): Block {
  const categories = categoriesOf(config, 'intentClassifier');
  const names = categories.map(([name]) => name);
  const schema =
    config.outputSchema ??
    z.object({ category: z.string(), confidence: z.number().min(0).max(1), reasoning: z.string().default('') });
  const prompt = [
    'Say which one of these categories the input belongs to, and how sure you are, from 0 to 1.',
    ...categories.map(([name, description]) => `- ${name}: ${String(description)}`),
  ];
  return asking({ ...config, outputSchema: withCategory(schema, names) }, prompt, schema);
}

interface Classified {
  originalInput: unknown;
  classification: { category: string; confidence: number };
}

export function intentRouter(config: Config): Block {
  const categories = categoriesOf(config, 'intentRouter') as [string, { description?: unknown; handler?: unknown }][];
  const name = String(config.name);
  const where = `intentRouter "${name}"`;
  const original = (input: Classified) => input.originalInput;
  const routes = new Map(
    categories.map(([category, { description, handler: to }]) => {
      if (typeof description !== 'string') {
        throw new TypeError(`${where}: "${category}" needs a description, got ${describeValue(description)}`);
      }
      return [category, needBlock(to, `${where}: the handler of "${category}"`)] as const;
    }),
  );
  const fallback = config.fallback === undefined ? undefined : needBlock(config.fallback, `${where}: fallback`);
  const threshold = config.confidenceThreshold;
  if (threshold !== undefined && !(typeof threshold === 'number' && threshold >= 0 && threshold <= 1)) {
    throw new TypeError(`${where}: confidenceThreshold is a number from 0 to 1, got ${describeValue(threshold)}`);
  }
  const classifier = intentClassifier({
    name: `${name}-intent-classifier`,
    model: config.model,
    categories: Object.fromEntries(categories.map(([category, { description }]) => [category, description])),
  });
  // One block may serve several categories; the router knows each once.
  const behind = new Map<Block, Block>();
  const reached = (block: Block): Block => {
    const known = behind.get(block) ?? block.connectInput(original as never);
    behind.set(block, known);
    return known;
  };
  const choose = ({ classification: { category, confidence } }: Classified): Block => {
    const isSure = threshold === undefined || confidence >= threshold;
    const route = isSure ? routes.get(category) : undefined;
    if (route) return reached(route);
    if (fallback) return reached(fallback);
    throw new Error(
      isSure
        ? `${where} produced unknown category "${category}" and no fallback handler was provided`
        : `${where} classified "${category}" with confidence ${confidence}, below threshold ${threshold}, and no fallback handler was provided`,
    );
  };
  [...routes.values(), ...(fallback ? [fallback] : [])].forEach(reached);
  const keep = handler({
    name: `${name}-intent-router-input`,
    transient: true,
    execute: ((input: unknown) => input) as never,
  });
  const dispatch = router({ name: `${name}-intent-router`, routes: [...behind.values()], execute: choose as never });
  return sequencer({ name, description: config.description, inputSchema: z.any() })
    .parallel({ originalInput: keep, classification: classifier })
    .step(dispatch);
}
