import { expect, test } from 'vitest';
import type { BlockRow } from '../../host/host';
import { blockAt } from '../../model/instant';
import { tookBy } from './block';

const block: BlockRow = {
  path: 'root',
  instanceId: 'r:root:0',
  name: 'go',
  kind: 'sequencer',
  attempt: 0,
  status: 'completed',
  startedAt: 1_000,
  durationMs: 307,
  gaps: [{ from: 1_128, to: 213_150 }],
  memoized: false,
  seqStart: 2,
  seqEnd: 32,
  changes: 0,
  items: 0,
};
const pause = { from: 1_128, to: 213_100 };

test('a block of a fork had not run between its original and the fork', () => {
  const then = blockAt(block, 23, 40);
  expect(tookBy(block, then, 213_110, pause)).toBe(128);
  expect(tookBy(block, then, 213_170, pause)).toBe(148);
  expect(tookBy(block, then, 1_050, pause)).toBe(50);
  expect(tookBy(block, then, null, pause)).toBeNull();
});

test('a block that has ended took what its row says, and one that has not begun nothing', () => {
  expect(tookBy(block, blockAt(block, 40, 40), 213_500, pause)).toBe(307);
  expect(tookBy(block, blockAt(block, 1, 40), 1_050, pause)).toBeNull();
});
