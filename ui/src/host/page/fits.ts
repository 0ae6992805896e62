// Which rows of a page a filter fits.
import type { Blocks } from './blocks';
import { fitsPath, termsOf, type Term, type Test } from './filter';
import type { PageRows } from './rows';
import { blocksWith } from './search';
import type { States } from './states';
import type { Values } from './values';

const FAILURES = new Set(['failed', 'returned_error', 'timed_out']);

export type Sources = {
  rows: PageRows;
  blocks: Blocks;
  values: Values;
  states: () => Promise<States>;
  /** A person waits for nothing twice: the text that was looked for last. */
  found: Map<string, ReadonlySet<number>>;
};

/** Whether a row fits all terms of a filter; null where nothing is asked for. Throws what is wrong with the filter. */
export async function fitsOf(text: string, sources: Sources): Promise<((row: number) => boolean) | null> {
  const terms = termsOf(text);
  if (terms.length === 0) return null;
  const read = await Promise.all(terms.map((term) => prepared(term, sources)));
  return (row) => read.every((fits) => fits(row));
}

async function prepared({ isNegated, test }: Term, sources: Sources): Promise<(row: number) => boolean> {
  const fits = await tested(test, sources);
  return (row) => fits(row) !== isNegated;
}

async function tested(test: Test, sources: Sources): Promise<(row: number) => boolean> {
  const { rows } = sources;
  if ('compare' in test) return (row) => test.compare(figure(rows, test.of, row), test.wanted);
  const { text } = test;
  switch (test.of) {
    case 'kind':
      return (row) => rows.text('kind', row) === text;
    case 'status':
      // Whoever looks for failures wants those that a tool returned, too.
      if (text === 'failed') return (row) => FAILURES.has(rows.text('status', row));
      return (row) => rows.text('status', row) === text;
    case 'name':
      return (row) => rows.text('name', row).toLowerCase().includes(text);
    case 'path':
      return (row) => fitsPath(rows.paths[row] ?? '', text);
    case 'writesTo': {
      const writes = (await sources.states()).history(text);
      return (row) => writes.some(({ by, seq }) => by === rows.paths[row] && isDuring(rows, row, seq));
    }
    default: {
      const found = sources.found.get(text) ?? (await blocksWith(text, sources.blocks, sources.values));
      sources.found.clear();
      sources.found.set(text, found);
      return (row) =>
        rows.text('name', row).toLowerCase().includes(text) ||
        isCalled((rows.paths[row] ?? '').toLowerCase(), text) ||
        found.has(rows.block[row] ?? -1);
    }
  }
}

/**
 * Whether a text is in the last segment of a path without the word for how the block was called, which no row shows; or
 * in all of the path, if it is written like one.
 */
export function isCalled(path: string, text: string): boolean {
  if (/[/:[]/.test(text)) return path.includes(text);
  const last = path.slice(path.lastIndexOf('/') + 1);
  return last.slice(last.indexOf(':') + 1).includes(text);
}

const isDuring = (rows: PageRows, row: number, seq: number) =>
  (rows.seqStart[row] ?? 0) <= seq && seq <= (rows.seqEnd[row] ?? Infinity);

function figure(rows: PageRows, of: string, row: number): number {
  const value = (name: string) => Number(rows.table.get(name, row) ?? 0);
  // What has not ended took no time: no comparison holds.
  if (of === 'dur') {
    const gaps = (rows.table.get('gaps', row) ?? []) as { from: number; to: number }[];
    const idle = gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0);
    return Math.max(0, (rows.endedAt[row] ?? NaN) - (rows.startedAt[row] ?? 0) - idle);
  }
  if (of === 'tokens') return value('promptTokens') + value('completionTokens');
  return value(of === 'writes' ? 'changes' : of);
}
