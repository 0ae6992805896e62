// Tools by which a model finds resources: by path, by a line of their text, by words. What is not `llmReadable` is not
// found.

import { z } from 'zod';
import { handler } from '../define/blocks';
import { globOf } from './item-conditions';
import { isReadable, readableProjected, resourcesOf, type Projected, type Ref } from './resource-lists';

const LONGEST_SNIPPET = 200;

interface Search {
  query: string;
  prefix: string | null;
  limit: number;
  cursor: string | null;
}

interface Hit {
  uri: string;
  score: number;
  snippet: string;
}

const prefix = z.string().nullable().default(null).describe('Only resources at this path or under it');
const count = (usual: number, what: string) => z.number().int().positive().default(usual).describe(what);

function shortened(text: string): string {
  const line = text.trim();
  return line.length > LONGEST_SNIPPET ? `${line.slice(0, LONGEST_SNIPPET)}…` : line;
}

/** A path lies at another or below it. */
function isUnder(path: string, under: string | null): boolean {
  const start = under === null || under === '' || under.endsWith('/') ? (under ?? '') : `${under}/`;
  return path === under || path.startsWith(start);
}

/** What the keys of an app's collection begin with at a path and below it; nothing where it has none there. */
function startIn({ pattern }: Projected, under: string): string | undefined {
  const root = pattern.replace(/\/?\*+$/, '');
  if (isUnder(root, under)) return '';
  return isUnder(under, root) ? under.slice(root.length).replace(/^\//, '') : undefined;
}

async function texts(ctx: unknown, under: string | null): Promise<{ ref: Ref; text: string }[]> {
  const found: { ref: Ref; text: string }[] = [];
  for (const ref of await resourcesOf(ctx, isReadable)) {
    if (!isUnder(ref.path, under)) continue;
    const text = await ref.readContent();
    if (text) found.push({ ref, text });
  }
  return found;
}

/** A pattern as written, or the text itself where it is none. */
function expression(pattern: string): RegExp {
  try {
    return new RegExp(pattern);
  } catch {
    return new RegExp(pattern.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  }
}

export function resourceSearchTools() {
  const globResources = handler({
    name: 'globResources',
    description: 'Find resources by path, like "concepts/**" or "**/react*". Without a pattern, list all.',
    inputSchema: z.object({
      pattern: z.string().nullable().default(null).describe('A pattern of paths, without the scope'),
      limit: count(100, 'How many uris at most'),
    }),
    outputSchema: z.object({ uris: z.array(z.string()) }),
    execute: async ({ pattern, limit }: { pattern: string | null; limit: number }, ctx: unknown) => {
      const isMeant = pattern === null ? undefined : globOf(pattern);
      const found = (await resourcesOf(ctx, isReadable)).filter((ref) => isMeant?.test(ref.path) ?? true);
      const uris = found.map((ref) => ref.uri).sort();
      return { uris: uris.slice(0, limit) };
    },
  });

  const grepResourceContent = handler({
    name: 'grepResourceContent',
    description: 'Find lines in the texts of resources, by a regular expression or a part of the line.',
    inputSchema: z.object({ pattern: z.string(), prefix, maxResults: count(50, 'How many lines at most') }),
    outputSchema: z.object({
      matches: z.array(z.object({ uri: z.string(), line: z.number(), snippet: z.string() })),
    }),
    execute: async (
      { pattern, prefix: under, maxResults }: { pattern: string; prefix: string | null; maxResults: number },
      ctx: unknown,
    ) => {
      const wanted = expression(pattern);
      const matches = (await texts(ctx, under)).flatMap(({ ref, text }) =>
        text
          .split('\n')
          .map((line, at) => ({ uri: ref.uri, line: at + 1, snippet: line }))
          .filter(({ snippet }) => wanted.test(snippet))
          .map((match) => ({ ...match, snippet: shortened(match.snippet) })),
      );
      return { matches: matches.slice(0, maxResults) };
    },
  });

  const searchResources = handler({
    name: 'searchResources',
    description: 'Rank resources by how often the words of a query stand in their texts.',
    inputSchema: z.object({
      query: z.string(),
      prefix,
      limit: count(10, 'How many resources at most'),
      cursor: z.string().nullable().default(null).describe('The nextCursor of the page before'),
    }),
    outputSchema: z.object({
      results: z.array(z.object({ uri: z.string(), score: z.number(), snippet: z.string() })),
      nextCursor: z.string().optional(),
    }),
    execute: async ({ query, prefix: under, limit, cursor }: Search, ctx: unknown) => {
      const words = query.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
      const hit = (ref: Ref, text: string): Hit => {
        const lower = text.toLowerCase();
        const score = words.reduce((sum, word) => sum + lower.split(word).length - 1, 0);
        const line = text.split('\n').find((one) => words.some((word) => one.toLowerCase().includes(word)));
        return { uri: ref.uri, score, snippet: shortened(line ?? text) };
      };
      const kept = await texts(ctx, under);
      const ranked = kept.map(({ ref, text }) => hit(ref, text)).filter(({ score }) => score > 0);
      ranked.sort((one, two) => two.score - one.score || (one.uri < two.uri ? -1 : 1));
      // An app has its own order, which is kept. Only a single source can go on where its page ended.
      const sources = readableProjected(ctx).filter((source) => under === null || startIn(source, under) !== undefined);
      const isSingle = sources.length === 1 && kept.length === 0;
      const found: Hit[] = [];
      let nextCursor: string | undefined;
      for (const source of sources) {
        const start = startIn(source, under ?? '') ?? '';
        const asked = { search: query, limit, ...(start === '' ? {} : { prefix: start }) };
        const page = await source.list(isSingle && cursor !== null ? { ...asked, cursor } : asked);
        for (const ref of page.items) {
          if (isUnder(ref.path, under)) found.push(hit(ref, (await ref.readContent()) ?? JSON.stringify(ref.state)));
        }
        if (isSingle) ({ nextCursor } = page);
      }
      const results = [...ranked, ...found].slice(0, limit);
      return nextCursor === undefined ? { results } : { results, nextCursor };
    },
  });

  return { globResources, grepResourceContent, searchResources };
}
