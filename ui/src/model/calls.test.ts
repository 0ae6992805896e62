import { expect, test } from 'vitest';
import type { BlockRow } from '../host/host';
import { callPlace, focusOf, newestAt, statusAt } from './calls';

let seq = 0;
const block = (path: string, more: Partial<BlockRow> = {}): BlockRow => ({
  path,
  instanceId: `r:${path}:${more.attempt ?? 0}`,
  parent: path.includes('/') ? `r:${path.slice(0, path.lastIndexOf('/'))}:${more.attempt ?? 0}` : null,
  name: path,
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
const byId = (blocks: readonly BlockRow[]) => new Map(blocks.map((one) => [one.instanceId, one]));

test('only paths of ticks and Calls are recognized as such', () => {
  expect(callPlace('root/tick[12]')).toEqual({ role: 'tick', name: 'tick', index: 12 });
  expect(callPlace('root/tick[0]/call:a%2Fb[3]')).toEqual({ role: 'call', name: 'a/b', index: 3 });
  expect(callPlace('root/tick[0]/call:100%[0]')).toEqual({ role: 'call', name: '100%', index: 0 });
  expect(callPlace('root/step:x/tick[0]/work:tell[1]')).toEqual({ role: 'work', name: 'tell', index: 1 });
  const others = ['root', 'root/work:mail[0]', 'root/tick[0]/request', 'root/step:tick[0]x', ''];
  expect(others.filter((path) => callPlace(path) !== null)).toEqual([]);
});

test('a path shows its newest execution that had begun', () => {
  const blocks = [block('root', { seqStart: 1 }), block('root', { attempt: 1, seqStart: 9, status: 'failed' })];
  expect(newestAt(blocks, 5).get('root')?.attempt).toBe(0);
  expect(newestAt(blocks, 9).get('root')?.attempt).toBe(1);
  expect(newestAt(blocks, 0).size).toBe(0);
  expect(statusAt(block('x', { seqEnd: 7, status: 'failed' }), 6)).toBe('running');
  expect(statusAt(block('x', { seqEnd: 7, status: 'failed' }), 7)).toBe('failed');
  expect(statusAt(block('x', { seqEnd: null, status: 'running' }), 7)).toBe('running');
});

test('the focus is the deepest tick or Call around the selected block', () => {
  const blocks = [
    'root',
    'root/tick[0]',
    'root/tick[0]/request',
    'root/tick[0]/call:a[0]',
    'root/tick[0]/call:a[0]/activity:a',
    'root/tick[0]/call:b[1]',
    'root/tick[0]/call:b[1]/delegate:w',
    'root/tick[0]/call:b[1]/delegate:w/tick[0]',
    'root/tick[0]/call:b[1]/delegate:w/tick[0]/request',
  ].map((path) => block(path));
  const found = (path: string | null) => {
    const focus = focusOf(blocks, byId(blocks), path && `r:${path}:0`, Infinity);
    return [focus?.block.path, focus?.tick.path];
  };
  expect(found('root/tick[0]/call:a[0]/activity:a')).toEqual(['root/tick[0]/call:a[0]', 'root/tick[0]']);
  expect(found('root/tick[0]/request')).toEqual(['root/tick[0]', 'root/tick[0]']);
  expect(found('root/tick[0]/call:b[1]/delegate:w')).toEqual(['root/tick[0]/call:b[1]', 'root/tick[0]']);
  const inner = 'root/tick[0]/call:b[1]/delegate:w/tick[0]';
  expect(found(`${inner}/request`)).toEqual([inner, inner]);
  // Blocks inside a Call's block are not loaded; their id contains the path.
  expect(found('root/tick[0]/call:a[0]/activity:a/step:x/tool:y')).toEqual(['root/tick[0]/call:a[0]', 'root/tick[0]']);
  expect(found('elsewhere/step:x')).toEqual(['root/tick[0]/call:a[0]', 'root/tick[0]']);
  // The root is neither a tick nor a Call: the first Call is shown.
  expect(found('root')).toEqual(['root/tick[0]/call:a[0]', 'root/tick[0]']);
  expect(found(null)).toEqual(['root/tick[0]/call:a[0]', 'root/tick[0]']);
});

test('without a selection, the Call that waits for a person comes first', () => {
  const suspended = { status: 'suspended' as const };
  const blocks = [
    block('root', suspended),
    block('root/tick[0]', suspended),
    block('root/tick[0]/call:a[0]'),
    block('root/tick[0]/call:b[1]', suspended),
    block('root/tick[0]/call:b[1]/delegate:w', suspended),
    block('root/tick[0]/call:b[1]/delegate:w/tick[0]', suspended),
    block('root/tick[0]/call:b[1]/delegate:w/tick[0]/call:c[0]', suspended),
  ];
  const found = focusOf(blocks, byId(blocks), null, Infinity);
  expect(found?.block.path).toBe('root/tick[0]/call:b[1]/delegate:w/tick[0]/call:c[0]');
  expect(focusOf(blocks.slice(0, 2), byId(blocks), null, Infinity)?.role).toBe('tick');
  expect(focusOf(blocks, byId(blocks), null, 0)).toBeNull();
  // Otherwise the first Call of the solution, even if another one began first.
  const late = ['root', 'root/tick[0]', 'root/tick[0]/work:a[1]', 'root/tick[0]/call:b[0]'].map((path) => block(path));
  expect(focusOf(late, byId(late), null, Infinity)?.block.path).toBe('root/tick[0]/call:b[0]');
});
