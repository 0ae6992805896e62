import { expect, test } from 'vitest';
import { NO_SUMS, costTitle, totalParts } from './totals';

const line = (...args: Parameters<typeof totalParts>) =>
  totalParts(...args)
    .map((part) => part.text)
    .join(' · ');

test('totals of zero are left out', () => {
  const sums = { modelCalls: 3, promptTokens: 4123, completionTokens: 600, changes: 7, cost: 0.0123, unpriced: 0 };
  expect(line({ blocks: 16, failed: 1 }, sums)).toBe(
    '16 blocks · 3 model calls · 4.1k tokens in · 600 out · $0.012 · 7 writes · 1 failed',
  );
  expect(line({ blocks: 1, failed: 0 }, NO_SUMS)).toBe('1 block');
});

test('the kept spending of a fork is separate from its own', () => {
  const kept = { ...NO_SUMS, modelCalls: 3, promptTokens: 4123, completionTokens: 600, cost: 0.4 };
  const own = { ...NO_SUMS, modelCalls: 1, promptTokens: 10, completionTokens: 2, cost: 0.0123 };
  expect(line({ blocks: 16, failed: 0 }, own, kept)).toBe(
    '16 blocks · 1 model call · 10 tokens in · 2 out · $0.012 · kept: 3 model calls, $0.40',
  );
  expect(line({ blocks: 16, failed: 0 }, NO_SUMS, { ...kept, cost: null })).toBe('16 blocks · kept: 3 model calls');
  expect(totalParts({ blocks: 16, failed: 0 }, NO_SUMS, kept).at(-1)?.title).toContain('4.1k tokens in, 600 out');
});

test('answers that another sample paid for do not count as spending', () => {
  const shared = { ...NO_SUMS, modelCalls: 1, promptTokens: 900, completionTokens: 60 };
  expect(line({ blocks: 2, failed: 0 }, NO_SUMS, null, shared)).toBe('2 blocks · shared: 1 model call');
  expect(totalParts({ blocks: 2, failed: 0 }, NO_SUMS, null, shared).at(-1)?.title).toContain('900 tokens in, 60 out');
});

test('the tooltip of a cost says which calls are left out', () => {
  expect(costTitle({ ...NO_SUMS, cost: 0.5, unpriced: 2 })).toBe(
    '0.5 US dollars, without 2 calls of models that have no price',
  );
  expect(costTitle(NO_SUMS)).toBe('');
});
