import { expect, test } from 'vitest';
import { BlockTotals, sumWords } from './totals';

const sum = (place: string, name: string) => ({
  place,
  name,
  count: 3,
  failed: 1,
  medianMs: 20,
  p95Ms: 900,
  totalMs: 1000,
});

test('a block is found by its place, or by its name below another one', () => {
  const totals = new BlockTotals({
    runs: 3,
    isCut: false,
    blocks: [sum('root', 'main'), sum('root/call:2', 'search')],
  });
  expect(totals.at('root')?.name).toBe('main');
  expect(totals.at('root/step:x')).toBeNull();
  expect(totals.inside('root', 'search')?.place).toBe('root/call:2');
  expect(totals.inside('root/step:x', 'search')).toBeNull();
});

test('how long it takes is said in short', () => {
  expect(sumWords(sum('root', 'x'))).toBe('median 20 ms · p95 900 ms · 1.00 s in all');
  expect(sumWords({ ...sum('root', 'x'), medianMs: null })).toBe('never ended');
});
