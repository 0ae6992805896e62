import { expect, test } from 'vitest';
import type { ViewRow } from '../../host/host';
import { columnWidths, hasRoomForWords, indexOf, isFirstTurn, wordsBesideBar } from './row-room';

const row = (label: string, more: Partial<ViewRow> = {}) => ({ label, depth: 1, ...more }) as ViewRow;
const turns = { group: { of: 'turns' } } as Partial<ViewRow>;

test('words that a narrow column of names would cut are said beside the bar', () => {
  const turn = row('forEach:read[2]', { words: 'The lamp is broken' });
  expect(hasRoomForWords(turn, 300, '[2]')).toBe(true);
  expect(wordsBesideBar(turn, undefined, 300)).toBe('');
  expect(hasRoomForWords(turn, 157, '[2]')).toBe(false);
  expect(wordsBesideBar(turn, undefined, 157)).toBe('The lamp is broken');
  // Short ones fit where long ones do not.
  expect(wordsBesideBar(row('forEach:read[2]', { words: '17' }), undefined, 157)).toBe('');
});

test('the words of a first pass are said like those of the passes after it', () => {
  const first = row('step:ask', { words: 'The lamp is broken' });
  expect(wordsBesideBar(first, row('step:ask', { depth: 0, ...turns }), 157)).toBe('The lamp is broken');
});

test('a row without an index or without words says none', () => {
  expect(wordsBesideBar(row('step:plan', { words: 'The lamp is broken' }), undefined, 120)).toBe('');
  expect(wordsBesideBar(row('forEach:read[2]'), undefined, 120)).toBe('');
  expect(wordsBesideBar(undefined, undefined, 120)).toBe('');
});

test('a first pass has an index, as those after it have', () => {
  const group = row('step:ask', turns);
  const first = row('step:ask', { depth: 2 });
  expect(isFirstTurn(first, group)).toBe(true);
  expect(indexOf(first, true)).toBe('[0]');
  expect(indexOf(row('step:ask~2'), true)).toBe('[0]#2');
  expect(indexOf(row('loop[1]/step:ask'), true)).toBe('[1]');
  // Not a block inside a turn, nor one after a folded group.
  expect(isFirstTurn(row('step:look', { depth: 3 }), first)).toBe(false);
  expect(isFirstTurn(row('step:write', { depth: 1 }), group)).toBe(false);
  expect(indexOf(first, false)).toBe('');
});

test('bars keep their room beside a line and a scroll bar, until names are as narrow as can be', () => {
  const barsOf = (width: number) => {
    const { names, numbers } = columnWidths(width, 262);
    return width - names - numbers - 15;
  };
  for (const width of [600, 708, 774, 789, 1200]) expect(barsOf(width), `${width}`).toBeGreaterThanOrEqual(400);
  expect(columnWidths(440, 262)).toEqual({ names: 120, numbers: 62 });
  expect(columnWidths(1200, 262)).toEqual({ names: 262, numbers: 112 });
  expect(columnWidths(0, 262)).toEqual({ names: 262, numbers: 112 });
});
