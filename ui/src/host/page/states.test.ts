import { expect, test } from 'vitest';
import { States } from './states';
import type { Step } from './track';

const states = (steps: Step[]) =>
  new States([{ kind: 'session', id: 's', name: null, begins: 1, until: null, steps }], () => 0);

/** The steps of a fork after event 7, with an edit that a later event records, and a block that wrote after that. */
const FORK: Step[] = [
  { s: 1, v: 1, f: { amount: 0, note: 'none' } },
  { s: 5, v: 2, f: { amount: 200, note: 'paid' }, w: 4, o: 'patch', b: 'root/step:load' },
  { s: 8, v: 3, z: 1, f: { amount: 200, note: 'paid' } },
  { s: 8, v: 3, f: { amount: 60 }, w: 9, o: 'edit' },
  { s: 20, v: 4, f: { total: 120 }, w: 18, o: 'patch', b: 'root/step:calc' },
];

test('a difference names the edit of a fork, which applies from its first own event on', () => {
  const all = states(FORK);
  expect(all.at(7)['session']).toEqual({ amount: 200, note: 'paid' });
  expect(all.at(8)['session']).toEqual({ amount: 60, note: 'paid' });
  const edit = { scope: 'session', path: 'amount', kind: 'changed', old: 200, new: 60, seq: 9, isEdit: true };
  expect(all.diff(7, 8)).toEqual([edit]);
  expect(all.diff(8, 19)).toEqual([]);
  const found = all.diff(1, 20).map(({ path, by, seq, isEdit }) => ({ path, by, seq, isEdit }));
  expect(found).toEqual([
    { path: 'amount', by: undefined, seq: 9, isEdit: true },
    { path: 'note', by: 'root/step:load', seq: 4, isEdit: undefined },
    { path: 'total', by: 'root/step:calc', seq: 18, isEdit: undefined },
  ]);
});

test('the history of a place has the edit of a fork without a block', () => {
  const rows = states(FORK).history('session.amount');
  expect(
    rows.map(({ by, operation, old, new: now, seq, committed }) => [by, operation, old, now, seq, committed]),
  ).toEqual([
    ['root/step:load', 'patch', 0, 200, 4, 5],
    [null, 'edit', 200, 60, 9, 8],
  ]);
});
