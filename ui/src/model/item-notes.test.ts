import { expect, test } from 'vitest';
import type { Item, ViewItem } from '../host/host';
import { linesOf } from './item-notes';

const items = (...types: string[]) =>
  types.map((type, n) => ({ item: { id: `i${n}`, type, status: 'completed' } as Item, isTail: false, isCut: false }));
const said = (list: ViewItem[], opened: string[] = []) =>
  linesOf(list, new Set(opened)).map((line) =>
    line.is === 'notes' ? line.words : `${line.at} ${line.shown.item.type}`,
  );

test('notes between messages are a line, and all of them once it is opened', () => {
  const list = items('message', 'state_change', 'state_change', 'block_output', 'tool_output', 'block_output');
  expect(said(list)).toEqual(['0 message', '2 state changes, 1 block output', '4 tool_output', '1 block output']);
  expect(said(list, ['i1'])).toEqual([
    '0 message',
    '1 state_change',
    '2 state_change',
    '3 block_output',
    '4 tool_output',
    '1 block output',
  ]);
  expect(said(items('status'))).toEqual(['1 status']);
  expect(said([])).toEqual([]);
});

test('what failed is never folded', () => {
  const [failed] = items('block_output');
  expect(said([{ ...failed!, item: { ...failed!.item, status: 'failed' } }])).toEqual(['0 block_output']);
});

test('the blocks around a failed one do not repeat its error', () => {
  const failed = (path: string, message: string) => {
    const [shown] = items('block_output');
    const item = { ...shown!.item, id: path, status: 'failed', error: { message } };
    return { ...shown!, item: { ...item, provenance: { path } } as unknown as Item };
  };
  const list = [failed('root/step:read', 'no key'), failed('root', 'no key')];
  expect(said(list)).toEqual(['0 block_output', '1 block output']);
  expect(said([failed('root/step:read', 'no key'), failed('root', 'no plan')])).toEqual([
    '0 block_output',
    '1 block_output',
  ]);
  expect(said([failed('root/a', 'no key'), failed('root/b', 'no key')])).toHaveLength(2);
});
