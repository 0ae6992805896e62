import { expect, test } from 'vitest';
import type { HitRow, ListedRequest } from '../../host/host';
import { byRequest, tabOf } from './hits';

const hit = (requestId: string, seq: number): HitRow => ({ requestId, seq, path: null, where: 'log', snippet: '' });

test('hits stand below their requests, in the order in which they were found', () => {
  const known = [{ id: 'r2', flow: 'chat' }, { id: 'r1' }] as ListedRequest[];
  const groups = byRequest([hit('r2', 4), hit('r2', 9), hit('r1', 2), hit('gone', 1)], known);
  expect(groups.map(({ id, hits }) => [id, hits.map((one) => one.seq)])).toEqual([
    ['r2', [4, 9]],
    ['r1', [2]],
    ['gone', [1]],
  ]);
  expect(groups.map((one) => one.request?.flow)).toEqual(['chat', undefined, undefined]);
});

test('what is to be seen in a tab opens it', () => {
  expect([tabOf('log'), tabOf('state'), tabOf('journal')]).toEqual(['log', 'changes', null]);
});
