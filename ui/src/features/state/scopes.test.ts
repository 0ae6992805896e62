import { expect, test } from 'vitest';
import type { BlockRow, Change, StateView } from '../../host/host';
import { valueAt } from '../../base/path';
import { changedFirst, findIn, placeName, scopesOf } from './scopes';

const state: StateView = {
  seq: 4,
  at: 0,
  session: { turns: 2 },
  user: {},
  project: null,
  sequencers: { 'r:root:1': { plan: [] } },
  versions: { session: 2 },
};
const changes: Change[] = [
  { scope: 'session', path: 'turns', kind: 'changed', old: 1, new: 2, seq: 3 },
  { scope: 'sequencer', instanceId: 'r:root:1', path: 'plan', kind: 'added', new: [] },
];
const byId = new Map([['r:root:1', { path: 'root', name: 'chat', kind: 'sequencer' } as BlockRow]]);

test('scopes come in their order, and only those that exist', () => {
  const scopes = scopesOf(state, changes, byId);
  expect(scopes.map((scope) => [scope.testid, scope.of, scope.version])).toEqual([
    ['scope-session', '', 2],
    ['scope-user', '', null],
    ['scope-sequencer', 'root', null],
  ]);
});

test('a change marks its own scope only', () => {
  const [session, user, sequencer] = scopesOf(state, changes, byId);
  expect([...(session?.marks.here ?? [])]).toMatchObject([['turns', { kind: 'changed', old: 1, new: 2 }]]);
  expect(user?.marks.here.size).toBe(0);
  expect([...(sequencer?.marks.here.keys() ?? [])]).toEqual(['plan']);
});

test('what changed comes before what did not', () => {
  const scopes = changedFirst(scopesOf(state, changes, byId));
  expect(scopes.map((scope) => scope.name)).toEqual(['session', 'sequencer', 'user']);
  // What another request changed is no change of this one.
  const others = [{ ...changes[0]!, scope: 'user', seq: null }, changes[1]!];
  expect(changedFirst(scopesOf(state, others, byId)).map((scope) => scope.name)).toEqual([
    'sequencer',
    'session',
    'user',
  ]);
});

test('places are named as people ask for them', () => {
  expect(placeName({ name: 'session', of: '' }, 'plan[2].title')).toBe('session.plan[2].title');
  expect(placeName({ name: 'sequencer', of: 'root/step:plan' }, 'steps[0]')).toBe('sequencer[root/step:plan].steps[0]');
  expect(placeName({ name: 'user', of: '' }, '["a b"].c')).toBe('user["a b"].c');
  expect(placeName({ name: 'user', of: '' }, '')).toBe('user');
});

test('a place is looked up, and what is not there is no value', () => {
  const value = { plan: [{ title: 'a' }], 'a b': 1 };
  expect(['plan[0].title', '["a b"]', 'plan[3].title', 'plan.length', ''].map((path) => valueAt(value, path))).toEqual([
    'a',
    1,
    undefined,
    undefined,
    value,
  ]);
});

test('names and texts are searched, without regard to case', () => {
  const found = findIn({ Plan: ['bees', { topic: 'wild Bees' }], n: 12 }, 'BEES');
  expect([...found]).toEqual(['Plan[0]', 'Plan[1].topic']);
  expect([...findIn({ plan: [1] }, 'plan')]).toEqual(['plan']);
  expect([...findIn({ plan: [1] }, ' ')]).toEqual([]);
});

test('a block that is no sequencer keeps its own state under its own name', () => {
  const own: StateView = { seq: 2, at: 0, sequencers: { 'r:root/a:0': { tries: 1 } }, versions: {} };
  const [scope] = scopesOf(
    own,
    [{ scope: 'block', instanceId: 'r:root/a:0', path: 'tries', kind: 'added', new: 1 }],
    new Map([['r:root/a:0', { path: 'root/a', name: 'a', kind: 'handler' } as BlockRow]]),
  );
  expect([scope?.name, scope?.testid, scope?.marks.here.get('tries')?.kind]).toEqual(['block', 'scope-block', 'added']);
});

test('no sequencer has state before any wrote some', () => {
  expect(scopesOf({ seq: 1, at: 0, request: {}, versions: {} }, [], new Map()).map((scope) => scope.name)).toEqual([
    'request',
  ]);
});

test('resources come last, with their text and their own changes', () => {
  const view: StateView = {
    seq: 1,
    at: 0,
    user: {},
    resources: { 'user/a': { n: 1 }, 'user/b': {} },
    contents: { 'user/a': 'text' },
    versions: { 'user/a': 3 },
  };
  const change: Change = { scope: 'resource', instanceId: 'user/a', path: 'n', kind: 'changed', old: 0, new: 1 };
  const [, a, b] = scopesOf(view, [change], new Map());
  expect([a?.of, a?.value, a?.version, [...(a?.marks.here ?? [])]]).toMatchObject([
    'user/a',
    { n: 1, $content: 'text' },
    3,
    [['n', { kind: 'changed', old: 0, new: 1 }]],
  ]);
  expect([b?.of, b?.value, b?.version, b?.marks.here.size]).toEqual(['user/b', {}, null, 0]);
});
