// `utility.combiner`: several artifacts as one, by rules and without a model.

import { z } from 'zod';
import { handler, type Block, type Config } from '../define/blocks';

export const combinerOutputSchema = z.object({ combined: z.unknown(), mergeNotes: z.array(z.string()).optional() });

export function combiner(config: Config): Block {
  const { outputSchema = combinerOutputSchema, ...rest } = config;
  return handler({ ...rest, outputSchema, execute: ((input: unknown) => combine(input)) as never });
}

function combine(input: unknown): Config {
  const given = Array.isArray(input) ? (input as unknown[]) : (input as { artifacts?: unknown } | null)?.artifacts;
  const artifacts = Array.isArray(given) ? (given as unknown[]) : [input];
  if (artifacts.length === 0) {
    return { combined: [], mergeNotes: ['No artifacts provided; returned an empty combined array.'] };
  }
  const notes = new Set<string>();
  const combined = together(artifacts, notes);
  return notes.size > 0 ? { combined, mergeNotes: [...notes] } : { combined };
}

function together(artifacts: unknown[], notes: Set<string>): unknown {
  if (artifacts.every(Array.isArray)) return lists(artifacts.flat() as unknown[], 'combined', notes);
  if (artifacts.every(isRecord)) return artifacts.reduce((all: Config, one) => merged(all, one, 'combined', notes), {});
  notes.add('Mixed artifact types detected; normalized by preserving artifact order and deduplicating exact matches.');
  return distinct(artifacts);
}

function isRecord(value: unknown): value is Config {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function merged(one: Config, two: Config, path: string, notes: Set<string>): Config {
  const all: Config = { ...one };
  for (const [key, value] of Object.entries(two)) {
    const at = `${path}.${key}`;
    const before = all[key];
    if (before === undefined || canonical(before) === canonical(value)) all[key] = value;
    else if (Array.isArray(before) && Array.isArray(value))
      all[key] = lists([...before, ...value] as unknown[], at, notes);
    else if (isRecord(before) && isRecord(value)) all[key] = merged(before, value, at, notes);
    else {
      notes.add(`${at}: conflicting values resolved by taking the later artifact.`);
      all[key] = value;
    }
  }
  return all;
}

function lists(entries: unknown[], path: string, notes: Set<string>): unknown[] {
  const each = distinct(entries);
  if (each.length < entries.length) notes.add(`${path}: deduplicated array entries during merge.`);
  return each;
}

function distinct(entries: unknown[]): unknown[] {
  const seen = new Set<string>();
  return entries.filter((entry) => {
    const key = canonical(entry);
    return !seen.has(key) && seen.add(key);
  });
}

/** JSON that is the same for equal values, whatever the order of their keys. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isRecord(value)) return JSON.stringify(value) ?? 'undefined';
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(',')}}`;
}
