import { expect, test } from 'vitest';
import type { BlockRow } from '../../host/host';
import { rowOf, treeRows } from './tree';

const block = (instanceId: string, parent: string | null, more: Partial<BlockRow> = {}): BlockRow => ({
  path: instanceId,
  instanceId,
  parent,
  name: instanceId,
  kind: 'handler',
  attempt: 0,
  status: 'completed',
  startedAt: 0,
  memoized: false,
  seqStart: 1,
  changes: 0,
  items: 0,
  ...more,
});
const none = new Set<string>();

const family = [block('a', null), block('b', 'a'), block('c', 'a'), block('d', 'b', { status: 'failed' })];

test('children come below their parent, not in start order', () => {
  const rows = treeRows(family, none);
  expect(rows.map((row) => [row.block.instanceId, row.depth])).toEqual([
    ['a', 0],
    ['b', 1],
    ['d', 2],
    ['c', 1],
  ]);
  expect(rows.map((row) => `${row.position}/${row.siblings}`)).toEqual(['1/1', '1/2', '1/1', '2/2']);
});

test('a folded row says what it hides', () => {
  const rows = treeRows(family, new Set(['b']));
  expect(rows.map((row) => row.block.instanceId)).toEqual(['a', 'b', 'c']);
  expect(rows[1]).toMatchObject({ expandable: true, expanded: false, inside: 1, failedInside: 1 });
  expect(rows[0]).toMatchObject({ inside: 3, failedInside: 1 });
});

test('turns of a loop and entries of a list are told apart', () => {
  const turns = [
    block('root', null),
    block('root/loop[1]/step:ask', 'root'),
    block('root/loop[1]/step:ask/forEach:one[2]', 'root/loop[1]/step:ask'),
  ];
  expect(treeRows(turns, none).map((row) => row.turn)).toEqual(['', '[1]', '[2]']);
});

test('a block whose parent is missing is still shown', () => {
  expect(treeRows([block('x', 'gone')], none).map((row) => row.depth)).toEqual([0]);
});

test('a hidden block is found at the nearest visible one above it', () => {
  const rows = treeRows(family, new Set(['a']));
  const byId = new Map(family.map((one) => [one.instanceId, one]));
  expect(rowOf(rows, 'd', byId)).toBe(0);
  expect(rowOf(rows, null, byId)).toBe(-1);
});

test('ten thousand blocks are laid out in a moment', () => {
  const many = [block('root', null)];
  for (let n = 0; n < 5000; n++) many.push(block(`p${n}`, 'root'), block(`c${n}`, `p${n}`));
  const started = performance.now();
  expect(treeRows(many, none)).toHaveLength(10_001);
  expect(performance.now() - started).toBeLessThan(300);
});
