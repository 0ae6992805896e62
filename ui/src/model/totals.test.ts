import { expect, test } from 'vitest';
import { NO_SUMS, costTitle, totalParts } from './totals';

const line = (...args: Parameters<typeof totalParts>) =>
  totalParts(...args)
    .map((part) => part.text)
    .join(' · ');

test('says what there is and leaves out the rest', () => {
  const sums = { modelCalls: 3, promptTokens: 4123, completionTokens: 600, changes: 7, cost: 0.0123, unpriced: 0 };
  expect(line({ blocks: 16, failed: 1 }, sums)).toBe(
    '16 blocks · 3 model calls · 4.1k tokens in · 600 out · $0.012 · 7 writes · 1 failed',
  );
  expect(line({ blocks: 1, failed: 0 }, NO_SUMS)).toBe('1 block');
});

test('a cost says which calls it leaves out', () => {
  expect(costTitle({ ...NO_SUMS, cost: 0.5, unpriced: 2 })).toBe(
    '0.5 US dollars, without 2 calls of models that have no price',
  );
  expect(costTitle(NO_SUMS)).toBe('');
});
