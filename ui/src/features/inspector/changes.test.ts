import { expect, test } from 'vitest';
import type { Change } from '../../host/host';
import { changeRows, placeOf, tally } from './changes';

const change = (scope: string, path: string, kind: Change['kind'] = 'changed', instanceId?: string): Change => ({
  scope,
  path,
  kind,
  ...(instanceId && { instanceId }),
});

test('places that begin alike stand below each other', () => {
  const rows = changeRows([
    change('session', 'plan.steps[0]', 'added'),
    change('session', 'plan.steps[1]', 'added'),
    change('session', 'topic'),
    change('user', 'facts'),
  ]);
  expect(rows.map((row) => [row.depth, row.label, row.place])).toEqual([
    [0, 'session', null],
    [1, 'plan.steps', null],
    [2, '[0]', 'session.plan.steps[0]'],
    [2, '[1]', 'session.plan.steps[1]'],
    [1, 'topic', 'session.topic'],
    [0, 'user', null],
    [1, 'facts', 'user.facts'],
  ]);
});

test('the place of a block names it by its path', () => {
  expect(placeOf(change('sequencer', 'n', 'changed', 'r1:root/step:plan:0'))).toBe('sequencer[root/step:plan].n');
  expect(placeOf(change('session', ''))).toBe('session');
});

test('counts what was added, changed and removed', () => {
  const all = [change('session', 'a', 'added'), change('session', 'b', 'moved'), change('session', 'c', 'removed')];
  expect(tally([...all, change('session', 'd')])).toEqual({ added: 1, changed: 2, removed: 1 });
});
