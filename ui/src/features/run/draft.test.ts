import { expect, test } from 'vitest';
import { Draft } from './draft.svelte';
import { fieldOf } from './schema';

const plan = fieldOf({
  type: 'object',
  required: ['topic'],
  properties: { topic: { type: 'string' }, tags: { type: 'array', items: { type: 'string' } }, extra: {} },
});

test('the form and the raw text are two views of one value', () => {
  const draft = new Draft(plan);
  draft.set(['topic'], 'bees');
  expect(JSON.parse(draft.text)).toEqual({ topic: 'bees' });
  draft.type('{"topic": "ants"  }');
  expect(draft.at(['topic'])).toBe('ants');
  expect(draft.text).toBe('{"topic": "ants"  }');
});

test('text that is not JSON yet changes nothing and says why', () => {
  const draft = new Draft(plan, { topic: 'bees' });
  draft.type('{"topic": ');
  expect(draft.value).toEqual({ topic: 'bees' });
  expect(draft.rawProblem).toMatch(/JSON/);
  draft.set(['topic'], 'ants');
  expect(draft.rawProblem).toBeNull();
});

test('a field is only told off once it was visited or the form was tried', () => {
  const draft = new Draft(plan);
  expect(draft.said(['topic'])).toEqual([]);
  draft.visit(['topic']);
  expect(draft.said(['topic'])).toEqual(['Required.']);
});

test('what the engine refused stands at its field until that field changes', () => {
  const draft = new Draft(plan, { topic: 'bees', tags: ['a', 'b'] });
  draft.refuse([
    { path: 'tags.1', message: 'Too short.' },
    { path: 'elsewhere', message: 'Unknown.' },
  ]);
  expect(draft.said(['tags', 1])).toEqual(['Too short.']);
  expect(draft.strays()).toEqual([{ path: 'elsewhere', message: 'Unknown.' }]);
  draft.set(['tags', 1], 'longer');
  expect(draft.said(['tags', 1])).toEqual([]);
});

test('a bare text input works like any other', () => {
  const draft = new Draft(fieldOf({ type: 'string', minLength: 1 }));
  expect(draft.problems).toEqual([{ path: '', message: 'Required.' }]);
  draft.set([], 'hello');
  expect(draft.text).toBe('"hello"');
  expect(draft.problems).toEqual([]);
});

test('an unread JSON field is a problem of its own', () => {
  const draft = new Draft(plan, { topic: 'x' });
  draft.unread(['extra'], '{"a"', 'This is not JSON.');
  expect(draft.problems).toEqual([{ path: 'extra', message: 'This is not JSON.' }]);
});

const lists = fieldOf({
  type: 'object',
  properties: {
    steps: { type: 'array', items: {} },
    named: { type: 'object', additionalProperties: {} },
    inner: { type: 'object', properties: { extra: {} } },
  },
});

test('an entry that is not JSON goes with its place in the list', () => {
  const draft = new Draft(lists, { steps: [1, null, null] });
  draft.unread(['steps', 1], '{"b"', 'no JSON');
  draft.unread(['steps', 2], '{"c"', 'no JSON');
  draft.remove(['steps', 0]);
  expect(draft.problems.map((one) => one.path)).toEqual(['steps[0]', 'steps[1]']);
  expect([draft.unreadAt(['steps', 0]), draft.unreadAt(['steps', 1])]).toEqual(['{"b"', '{"c"']);
  draft.remove(['steps', 0]);
  draft.remove(['steps', 0]);
  expect(draft.problems).toEqual([]);
  expect(draft.value).toEqual({ steps: [] });
});

test('text of a field that is gone is no problem any more', () => {
  const draft = new Draft(lists, { named: { a: null, b: null }, inner: {}, steps: [null] });
  draft.unread(['named', 'a'], '{', 'no JSON');
  draft.unread(['inner', 'extra'], '{', 'no JSON');
  draft.unread(['steps', 0], '{', 'no JSON');
  draft.set(['named'], { b: null });
  expect(draft.problems.map((one) => one.path)).toEqual(['inner.extra', 'steps[0]']);
  draft.set(['inner'], undefined);
  draft.set(['steps'], []);
  expect(draft.problems).toEqual([]);
});
