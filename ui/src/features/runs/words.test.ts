import { expect, test } from 'vitest';
import { completed } from '../../base/completion';
import type { RunRow } from '../../host/host';
import { completionsAt } from './filter';
import { inCommon, looksOf, tagsIn, tagsThatFit } from './words';

const run = (more: Partial<RunRow>): RunRow => ({
  id: 'r',
  sessionId: 's',
  flow: 'cart',
  action: 'pay',
  userId: 'ada',
  status: 'completed',
  startedAt: 0,
  mock: false,
  lastSeq: 1,
  tags: [],
  tokens: 0,
  ...more,
});
const error = { name: 'Error', message: 'no stock', file: 'lib/cart.ts', line: 45 };

test('runs that fail at one place are said to', () => {
  expect(inCommon([run({ error }), run({ error: { ...error, message: 'other' } })])).toEqual({
    text: 'both fail at',
    code: 'lib/cart.ts:45',
  });
  const elsewhere = { name: 'Error', message: 'no stock' };
  expect(inCommon([run({ error: elsewhere }), run({ error: elsewhere }), run({ error: elsewhere })])).toEqual({
    text: 'all 3 fail with',
    code: 'Error: no stock',
  });
  expect(inCommon([run({ error }), run({})])).toEqual({ text: 'both ran', code: 'cart.pay' });
  expect(inCommon([run({}), run({ flow: 'other' })])).toBeNull();
  expect(inCommon([run({})])).toBeNull();
});

test('tags are parted by commas and blanks, each once', () => {
  expect(tagsIn(' a, b  a,,c ')).toEqual(['a', 'b', 'c']);
});

test('values of a folder complete a term', () => {
  const known = { flows: ['cart', 'my flow'], users: ['ada', 'user with space'], tags: ['seen'] };
  const offered = (text: string) => completionsAt(known, text, text.length).options.map((one) => one.text);
  expect(offered('flow:')).toEqual(['cart', '"my flow"']);
  expect(offered('status:failed tag:')).toEqual(['seen']);
  expect(offered('-us')).toEqual(['user:']);
  for (const begun of ['user:user', '-user:"user', 'is:fork user:"user with'])
    expect(offered(begun), `${begun}`).toEqual(['"user with space"']);
  const found = completionsAt(known, 'user:"user wi" is:fork', 12);
  expect(completed('user:"user wi" is:fork', found, { text: '"user with space"', hint: '' }).text).toBe(
    'user:"user with space" is:fork',
  );
  expect(offered('"user:us'), 'a text in quotes').toEqual([]);
});

test('runs of one title read alike only if their input does', () => {
  const lamp = run({ title: 'Lamp', words: 'order 17' });
  expect(looksOf(lamp)).toBe(looksOf(run({ id: 'r2', title: 'Lamp', words: 'order 17', startedAt: 9 })));
  expect(looksOf(lamp)).not.toBe(looksOf(run({ title: 'Lamp', words: 'order 18' })));
  expect(looksOf(lamp)).not.toBe(looksOf(run({ title: 'Lamp', words: 'order 17', error })));
});

test('a cell shows as many tags as can be read in it, and counts the others', () => {
  expect(tagsThatFit(['a', 'b', 'c'], 128)).toBe(3);
  expect(tagsThatFit(['regression', 'checked', 'demo'], 128)).toBe(1);
  expect(tagsThatFit(['checked', 'demo'], 128)).toBe(2);
  expect(tagsThatFit(['a tag that is longer than all of the cell', 'x'], 128)).toBe(1);
  expect(tagsThatFit([], 128)).toBe(0);
});
