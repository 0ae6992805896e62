import { expect, test } from 'vitest';
import { valueChanges } from './value-changes';

test('only what differs is listed, by its place', () => {
  const old = { a: 1, list: [1, { b: 'x' }], gone: true };
  const now = { a: 1, list: [1, { b: 'y' }, 3] };
  expect(valueChanges('output', old, now).map(({ path, kind }) => [path, kind])).toEqual([
    ['list[1].b', 'changed'],
    ['list[2]', 'added'],
    ['gone', 'removed'],
  ]);
  expect(valueChanges('output', { a: [1] }, { a: [1] })).toEqual([]);
  expect(valueChanges('input', 'a', 'b')).toEqual([
    { id: 'input input', group: 'input', path: 'input', kind: 'changed', old: 'a', new: 'b' },
  ]);
  expect(valueChanges('input', undefined, null)[0]?.kind).toBe('added');
});
