import { expect, test } from 'vitest';
import type { StateView } from '../../host/host';
import { beginWith, forkOptions, isUnchanged, newEdit, valueAt, type Edit } from './fork';

const typed = (what: Edit['what'], text: string, place = '') => ({ ...newEdit(what), text, place });

test('what was typed is what the fork is asked with', () => {
  expect(
    forkOptions([typed('output', 'null'), typed('set', '"bees"', ' session.topic '), typed('set', '2', 'user.n')]),
  ).toEqual({
    output: null,
    set: [
      { place: 'session.topic', value: 'bees' },
      { place: 'user.n', value: 2 },
    ],
  });
  expect(forkOptions([])).toEqual({ set: [] });
});

test('a value that is no JSON is named', () => {
  const thrown = () => forkOptions([typed('set', 'bees', 'session.topic')]);
  expect(thrown).toThrow(
    expect.objectContaining({ kind: 'invalid', message: expect.stringContaining('session.topic') }),
  );
});

test('an editor begins with what was there, and left like that it is no edit', () => {
  const edit = newEdit('input');
  beginWith(edit, { topic: 'bees', n: 2 }, 'nothing');
  expect(JSON.parse(edit.text)).toEqual({ topic: 'bees', n: 2 });
  expect([isUnchanged(edit), forkOptions([edit])]).toEqual([true, { set: [] }]);
  edit.text = '{"topic":"bees","n":2}';
  expect(isUnchanged(edit)).toBe(true);
  edit.text = '{"topic":"bees","n":3}';
  expect(forkOptions([edit])).toEqual({ input: { topic: 'bees', n: 3 }, set: [] });
  edit.text = '';
  expect(() => forkOptions([edit])).toThrow(expect.objectContaining({ kind: 'invalid' }));
});

test('what was typed stays when what was there arrives', () => {
  const edit = typed('output', '7');
  beginWith(edit, 5, 'nothing');
  expect(edit).toMatchObject({ text: '7', was: '5' });
});

test('a value that is not there, or large, begins empty, without an error', () => {
  const none = newEdit('output');
  beginWith(none, undefined, 'It gave no output.');
  expect(none).toMatchObject({ text: '', note: 'It gave no output.' });
  const large = newEdit('output');
  beginWith(large, 'x'.repeat(200_000), 'nothing');
  expect(large.text).toBe('');
  expect(large.note).toContain('large (195 KB)');
  expect(forkOptions([none, large])).toEqual({ set: [] });
});

test('a place in a state has the value of the instant', () => {
  const state = {
    session: { topic: 'bees', list: [{ n: 1 }], 'a.b': 3 },
    sequencers: { 'r:root:0': { n: 1 }, 'r:root:1': { n: 2 }, 'r:root/forEach:x[0]:0': { seen: [5] } },
    versions: {},
  } as unknown as StateView;
  expect(valueAt(state, ' session.topic ')).toBe('bees');
  expect(valueAt(state, 'session.list[0].n')).toBe(1);
  expect(valueAt(state, 'session["a.b"]')).toBe(3);
  expect(valueAt(state, 'sequencer.n')).toBe(2);
  expect(valueAt(state, 'sequencer[root/forEach:x[0]].seen[0]')).toBe(5);
  for (const none of ['', 'session.', 'session', 'session.list[9]', 'user.n', 'session.toString', 'other.x', 'block.n'])
    expect(valueAt(state, none)).toBeUndefined();
});
