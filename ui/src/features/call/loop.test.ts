import { expect, test } from 'vitest';
import type { BlockRow } from '../../host/host';
import { loopRows } from './loop';

let seq = 0;
const block = (path: string, more: Partial<BlockRow> = {}): BlockRow => ({
  path,
  instanceId: `${path}:${more.attempt ?? 0}`,
  parent: null,
  name: path.replace(/.*[:/]/, '').replace(/\[\d+\]$/, ''),
  kind: 'sequencer',
  attempt: 0,
  status: 'completed',
  startedAt: 0,
  memoized: false,
  seqStart: ++seq,
  seqEnd: 1000,
  changes: 0,
  items: 0,
  ...more,
});
const inner = 'root/tick[0]/call:write[1]/delegate:writer';
const all = [
  'root',
  'root/tick[0]',
  'root/tick[0]/request',
  'root/tick[0]/call:add[0]',
  'root/tick[0]/call:add[0]/activity:plus',
  'root/tick[0]/call:write[1]',
  inner,
  `${inner}/tick[0]`,
  `${inner}/tick[0]/request`,
  'root/tick[0]/work:tell[2]',
  'root/tick[0]/work:tell[2]/activity:tell',
  'root/tick[1]',
].map((path) => block(path));
const said = (rows: ReturnType<typeof loopRows>) =>
  rows.map((row) => `${'  '.repeat(row.depth)}${row.name}: ${row.note}`);

test('each tick says which Calls it answered, and each Call who makes its result', () => {
  expect(said(loopRows(all, Infinity, new Set()))).toEqual([
    'root: 2 ticks',
    '  tick 0: calls add, write, tell',
    '    add[0]: Activity plus',
    '    write[1]: handed to writer',
    '      tick 0: no calls',
    '    tell[2]: Activity tell, not waited for',
    '  tick 1: no calls',
  ]);
});

test('what had not begun is not there, and what had not ended runs', () => {
  const early = loopRows(all, all[3]?.seqStart ?? 0, new Set());
  expect(early.map((row) => [row.name, row.status])).toEqual([
    ['root', 'running'],
    ['tick 0', 'running'],
    ['add[0]', 'running'],
  ]);
});

test('a folded tick hides its Calls, and many Calls of one tool are counted', () => {
  const calls = Array.from({ length: 1000 }, (_, n) => block(`root/tick[0]/call:add[${n}]`));
  const rows = loopRows([block('root'), block('root/tick[0]'), ...calls], Infinity, new Set(['root/tick[0]']));
  expect(said(rows)).toEqual(['root: 1 tick', '  tick 0: calls add × 1,000']);
  expect(rows[1]).toMatchObject({ expandable: true, expanded: false });
});

test('of each path the newest execution is shown, once', () => {
  const again = [block('root', { attempt: 1 }), block('root/tick[0]', { attempt: 1, memoized: true })];
  const rows = loopRows([...all, ...again], Infinity, new Set());
  expect(rows.filter((row) => row.block.path === 'root/tick[0]').map((row) => row.block.attempt)).toEqual([1]);
  // What a tick from the log does not run again is still there.
  expect(rows).toHaveLength(7);
});

test('two agents of one request each have a loop', () => {
  const rows = loopRows(
    ['root', 'root/step:a', 'root/step:a/tick[0]', 'root/step:b', 'root/step:b/tick[0]'].map((path) => block(path)),
    Infinity,
    new Set(),
  );
  expect(rows.map((row) => [row.depth, row.name])).toEqual([
    [0, 'a'],
    [1, 'tick 0'],
    [0, 'b'],
    [1, 'tick 0'],
  ]);
});
