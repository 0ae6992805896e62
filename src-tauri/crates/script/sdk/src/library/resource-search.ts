// Tools by which a model finds resources: by path, by a line of their text, by words. What is not `llmReadable` is not
// found.

import { z } from 'zod';
import { handler } from '../define/blocks';
import { globOf } from './item-conditions';
import { isReadable, resourcesOf, type Ref } from './resource-lists';

const LONGEST_SNIPPET = 200;

const prefix = z.string().nullable().default(null).describe('Only resources at this path or under it');
const count = (usual: number, what: string) => z.number().int().positive().default(usual).describe(what);

function shortened(text: string): string {
  const line = text.trim();
  return line.length > LONGEST_SNIPPET ? `${line.slice(0, LONGEST_SNIPPET)}…` : line;
}

async function texts(ctx: unknown, under: string | null): Promise<{ ref: Ref; text: string }[]> {
  const found: { ref: Ref; text: string }[] = [];
  const start = under === null || under === '' || under.endsWith('/') ? (under ?? '') : `${under}/`;
  for (const ref of await resourcesOf(ctx, isReadable)) {
    if (ref.path !== under && !ref.path.startsWith(start)) continue;
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
    inputSchema: z.object({ query: z.string(), prefix, limit: count(10, 'How many resources at most') }),
    outputSchema: z.object({
      results: z.array(z.object({ uri: z.string(), score: z.number(), snippet: z.string() })),
    }),
    execute: async (
      { query, prefix: under, limit }: { query: string; prefix: string | null; limit: number },
      ctx: unknown,
    ) => {
      const words = query.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
      const ranked = (await texts(ctx, under)).flatMap(({ ref, text }) => {
        const lower = text.toLowerCase();
        const score = words.reduce((sum, word) => sum + lower.split(word).length - 1, 0);
        const line = text.split('\n').find((one) => words.some((word) => one.toLowerCase().includes(word)));
        return score === 0 ? [] : [{ uri: ref.uri, score, snippet: shortened(line ?? text) }];
      });
      ranked.sort((one, two) => two.score - one.score || (one.uri < two.uri ? -1 : 1));
      return { results: ranked.slice(0, limit) };
    },
  });

  return { globResources, grepResourceContent, searchResources };
}
