import { expect, test } from 'vitest';
import { leftOut, shownColumns } from './columns';

type Ids = Parameters<typeof shownColumns>[0];
const ids = (hidden: Ids, room: number, wanted: Ids = []) =>
  shownColumns(hidden, wanted, room).columns.map((column) => column.id);

test('all columns that nobody hid are shown where there is room', () => {
  expect(ids(['from'], 1400)).toHaveLength(10);
  expect(ids([], 1600)).toHaveLength(11);
  expect(ids(['from', 'cost', 'tags'], 1400)).not.toContain('cost');
});

test('in less room those that say least are left out first, and the title stays', () => {
  const narrow = ids(['from'], 700);
  expect(narrow).not.toContain('session');
  expect(narrow).toContain('title');
  expect(ids(['from'], 120)).toEqual(['status', 'flow', 'title', 'started']);
});

test('a column that somebody asked for is shown, however little room there is', () => {
  expect(ids([], 1180), 'nobody asked').not.toContain('from');
  expect(ids([], 1180, ['from']), 'the title gives way').toHaveLength(11);
  expect(ids([], 700, ['from', 'user'])).toEqual(['status', 'flow', 'title', 'user', 'from', 'started']);
  expect(shownColumns([], ['from', 'user'], 400).atLeast, 'it scrolls sideways').toBeGreaterThan(400);
  expect(shownColumns([], ['from'], 1180).atLeast).toBe(0);
  expect(shownColumns([], [], 100).atLeast).toBe(0);
});

test('there is a width for the box of the selection and for each column', () => {
  const { columns, template } = shownColumns([], [], 2000);
  expect(template.match(/px|minmax/g)).toHaveLength(columns.length + 1);
});

test('columns that are left out for lack of room are known, unlike those that somebody hid', () => {
  expect(leftOut(['from'], [], 1400)).toEqual([]);
  expect(leftOut(['from'], [], 700)).toEqual(['user', 'session', 'duration', 'tokens', 'cost']);
  expect(leftOut([], ['from', 'session'], 700)).toEqual(['user', 'duration', 'tokens', 'cost', 'tags']);
  expect(leftOut([], [], 0), 'not measured yet').toEqual([]);
});
