import { expect, test } from 'vitest';
import { forkOptions } from './fork';

test('what was typed is what the fork is asked with', () => {
  expect(
    forkOptions([
      { what: 'output', place: '', text: 'null' },
      { what: 'set', place: ' session.topic ', text: '"bees"' },
      { what: 'set', place: 'user.n', text: '2' },
    ]),
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
  const thrown = () => forkOptions([{ what: 'set', place: 'session.topic', text: 'bees' }]);
  expect(thrown).toThrow(
    expect.objectContaining({ kind: 'invalid', message: expect.stringContaining('session.topic') }),
  );
});
