import { expect, test } from 'vitest';
import type { BlockRow, BlockStatus } from '../host/host';
import { blockAt } from './instant';

const block = (status: BlockStatus, seqStart: number, seqEnd: number | null) =>
  ({ status, seqStart, seqEnd }) as BlockRow;

test.each<[string, BlockRow, number, string, boolean]>([
  ['before its first event', block('completed', 5, 9), 4, 'ahead', false],
  ['at its first event', block('completed', 5, 9), 5, 'running', false],
  ['between', block('failed', 5, 9), 8, 'running', false],
  ['at its last event', block('failed', 5, 9), 9, 'failed', true],
  ['after it', block('completed', 5, 9), 15, 'completed', true],
  ['no end, at the newest event', block('suspended', 5, null), 20, 'suspended', true],
  ['no end, at the newest event of a request that was cut off', block('abandoned', 5, null), 20, 'abandoned', true],
  ['no end, earlier', block('suspended', 5, null), 19, 'running', false],
  ['no end, before it began', block('abandoned', 5, null), 4, 'ahead', false],
])('%s', (_, row, seq, status, isFinal) =>
  expect(blockAt(row, seq, 20)).toMatchObject({ status, isFinal, begun: status !== 'ahead' }),
);

test('what had not begun has a word of its own and no outcome', () => {
  expect(blockAt(block('completed', 5, 9), 1, 20).look).toMatchObject({ label: 'Not begun', tone: 'idle' });
  expect(blockAt(block('completed', 5, 9), 6, 20).look).toMatchObject({ label: 'Was running', tone: 'idle' });
  expect(blockAt(block('running', 5, null), 20, 20).look.tone).toBe('busy');
});
