import { expect, test } from 'vitest';
import type { Change } from '../../host/host';
import { countsOf, countWords, marksOf, treeOf } from './tree';

const change = (kind: string, path: string, old?: unknown, now?: unknown) =>
  ({ scope: 'session', kind, path, old, new: now, seq: 7 }) as Change;
const all = (...paths: string[]) => ({ open: new Set(['', ...paths]), pages: new Map<string, number>() });
const lines = (rows: ReturnType<typeof treeOf>) =>
  rows.map(
    (row) =>
      `${'  '.repeat(row.depth)}${row.label}${row.change ? ` ${row.change.kind}` : ''}${row.inside ? ` (${row.inside})` : ''}`,
  );

const value = { plan: { title: 'new', steps: ['a', 'c'] }, total: 2, tags: {} };
const marks = marksOf([
  change('changed', 'plan.title', 'old', 'new'),
  change('removed', 'plan.steps[1]', 'b'),
  change('added', 'plan.steps[1]', undefined, 'c'),
  change('removed', 'topic', 'bees'),
  change('added', 'total', undefined, 2),
]);

test('what changed stands in the tree, and what is gone below its container', () => {
  expect(lines(treeOf(value, marks, all('plan', 'plan.steps'), false))).toEqual([
    'plan (3)',
    '  title changed',
    '  steps (2)',
    '    0',
    '    1 added',
    '    1 removed',
    'total added',
    'tags',
    'topic removed',
  ]);
});

test('with changes only, the rest is left out', () => {
  expect(lines(treeOf(value, marks, all('plan', 'plan.steps'), true))).toEqual([
    'plan (3)',
    '  title changed',
    '  steps (2)',
    '    1 added',
    '    1 removed',
    'total added',
    'topic removed',
  ]);
});

test('a state that became empty still says what is gone', () => {
  const gone = marksOf([change('removed', 'topic', 'bees')]);
  expect(lines(treeOf({}, gone, all(), true))).toEqual(['topic removed']);
});

test('changes are counted by what they are', () =>
  expect(countsOf(marks)).toEqual({ added: 2, changed: 1, removed: 2, others: 0 }));

test('a change without a writer in this request was made by another one, and is counted apart', () => {
  const own = { ...change('changed', 'topic', 'a', 'b'), seq: 12, by: 'root/step:plan' };
  const marks = marksOf([own, { ...change('added', 'contacts', undefined, 2), seq: null }]);
  expect(marks.here.get('topic')?.isByAnother).toBe(false);
  expect(marks.here.get('contacts')?.isByAnother).toBe(true);
  expect(countWords(countsOf(marks))).toBe('~1 1 by other requests');
});

test("a fork's edit was made by no other request", () => {
  const marks = marksOf([{ ...change('changed', 'topic', 'a', 'b'), seq: 21, by: null, isEdit: true }]);
  expect(marks.here.get('topic')).toMatchObject({ isByAnother: false, isEdit: true });
  expect(countWords(countsOf(marks))).toBe('~1');
});

test('what is inside of something added was added itself', () => {
  const added = marksOf([{ ...change('added', 'plan'), by: 'root/step:plan' }]);
  const rows = treeOf(value, added, all('plan', 'plan.steps'), false);
  expect(rows.filter((row) => row.isNew).map((row) => row.path)).toEqual([
    'plan.title',
    'plan.steps',
    'plan.steps[0]',
    'plan.steps[1]',
  ]);
});
