import { expect, test } from 'vitest';
import { remember } from '../../base/remember';
import { ALL_RUNS } from '../../place';
import { keepFilters, nameOf, savedFilters, withFilter } from './saved';

const failed = { ...ALL_RUNS, runs: 'status:failed' };

test('a filter is kept for its folder, by its name', () => {
  const saved = withFilter(withFilter([], 'Zero', ALL_RUNS), ' Failed ', failed);
  expect(saved.map((one) => one.name)).toEqual(['Failed', 'Zero']);
  expect(withFilter(saved, 'Failed', ALL_RUNS)[0]?.runs).toBe('');
  expect(withFilter(saved, '  ', failed)).toEqual(saved);
  keepFilters('/a.db', saved);
  expect(savedFilters('/a.db')).toEqual(saved);
  expect(savedFilters('/b.db')).toEqual([]);
});

test('what another version or another program left there is no filter', () => {
  remember('runs.saved./c.db', [{ name: 'x' }, null, 5, { name: '<b>', ...failed }]);
  expect(savedFilters('/c.db').map((one) => one.name)).toEqual(['<b>']);
  remember('runs.saved./c.db', 'nonsense');
  expect(savedFilters('/c.db')).toEqual([]);
  expect(withFilter([], 'n'.repeat(500), failed)[0]?.name.length).toBe(80);
  expect([nameOf(failed), nameOf(ALL_RUNS)]).toEqual(['status:failed', 'by started, largest first']);
});
