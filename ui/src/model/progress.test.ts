import { expect, test } from 'vitest';
import type { Counts } from '../host/host';
import { Progress } from './progress.svelte';

const counts = (more: Partial<Counts>): Counts => ({
  blocks: 3,
  finished: 3,
  running: 0,
  failed: 0,
  suspended: 2,
  items: 0,
  ticks: 0,
  calls: 0,
  ...more,
});

test('a block that waits for an answer is not finished', () => {
  const progress = new Progress();
  progress.tell(false, counts({}), 'suspended');
  expect(progress.words).toBe('1 of 3 blocks finished, 2 waiting for an answer. Request suspended.');
  // The block that waited ended with the request.
  progress.tell(false, counts({ blocks: 5, finished: 5, suspended: 1 }), 'completed');
  expect(progress.words).toBe('5 of 5 blocks finished. Request completed.');
});
