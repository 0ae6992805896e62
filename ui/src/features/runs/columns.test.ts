import { expect, test } from 'vitest';
import { shownColumns } from './columns';

const ids = (hidden: Parameters<typeof shownColumns>[0], room: number) =>
  shownColumns(hidden, room).columns.map((column) => column.id);

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

test('there is a width for the box of the selection and for each column', () => {
  const { columns, template } = shownColumns([], 2000);
  expect(template.match(/px|minmax/g)).toHaveLength(columns.length + 1);
});
