import { expect, test } from 'vitest';
import { above, firstOpen, outline, PAGE } from './outline';

const opened = (open: string[], pages: [string, number][] = []) => ({ open: new Set(open), pages: new Map(pages) });

test('a closed container is one row', () => {
  expect(outline({ a: 1 }, 'root', opened([])).map((r) => r.label)).toEqual(['root']);
});

test('open containers show their children in order, with paths', () => {
  const rows = outline({ plan: [{ title: 'x' }], n: 1 }, 'root', opened(['', 'plan', 'plan[0]']));
  expect(rows.map((r) => [r.path, r.depth])).toEqual([
    ['', 0],
    ['plan', 1],
    ['plan[0]', 2],
    ['plan[0].title', 3],
    ['n', 1],
  ]);
});

test('a long list comes a page at a time', () => {
  const list = Array.from({ length: 100_000 }, (_, n) => n);
  const first = outline(list, 'list', opened(['']));
  expect(first).toHaveLength(PAGE + 2);
  expect(first.at(-1)?.more).toBe(100_000 - PAGE);
  expect(outline(list, 'list', opened([''], [['', 3]]))).toHaveLength(3 * PAGE + 2);
});

test('the first opening stays within its budget', () => {
  expect([...firstOpen({ a: { b: { c: 1 } } }, 10)]).toEqual(['', 'a', 'a.b']);
  expect([...firstOpen({ big: Array(500).fill(0), small: { x: 1 } }, 20)]).toEqual(['', 'small']);
});

test('a tree of 130 levels opens without harm', () => {
  let deep: unknown = 1;
  for (let n = 0; n < 130; n++) deep = { deep };
  expect(outline(deep, 'root', { open: firstOpen(deep, 1000), pages: new Map() })).toHaveLength(131);
});

test('the containers above a path', () => {
  expect(above('plan[2].title')).toEqual(['', 'plan', 'plan[2]']);
  expect(above('')).toEqual(['']);
  expect(above('notes["a.b"].text')).toEqual(['', 'notes', 'notes["a.b"]']);
});
