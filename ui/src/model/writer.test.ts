import { expect, test } from 'vitest';
import { changedBy, shortWriterOf, writerOf } from './writer';

test('a write is named by its block, the request, or the edit of a fork', () => {
  const block = { by: 'root/tap:plan/tap:keep-plan', operation: 'patch' };
  expect([writerOf(block), shortWriterOf(block)]).toEqual(['root/tap:plan/tap:keep-plan', 'tap:keep-plan']);
  expect(shortWriterOf({ by: null, operation: 'patch' })).toBe('the request itself');
  const edit = { by: null, operation: 'edit' };
  expect([writerOf(edit), shortWriterOf(edit)]).toEqual(["the fork's edit", "the fork's edit"]);
  expect([changedBy({ isEdit: true }), changedBy({ by: 'root/a' }), changedBy({})]).toEqual([
    "the fork's edit",
    'root/a',
    null,
  ]);
});
