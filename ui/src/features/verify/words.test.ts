import { expect, test } from 'vitest';
import type { VerifiedRun } from '../../host/host';
import { countsOf } from '../../model/verdicts';
import {
  missingWords,
  placeOf,
  progressWords,
  proposedFile,
  restOf,
  rowAfter,
  runName,
  sideOf,
  summaryWords,
  titleOf,
} from './words';

const run = (more: Partial<VerifiedRun>): VerifiedRun => ({ requestId: 'r', verdict: 'differs', ...more });

test('a group is called by its block and what of it differs', () => {
  expect(titleOf({ path: 'root/forEach:line[*]/step:tax', field: 'output', verdict: 'differs' })).toBe('tax › output');
  expect(titleOf({ path: 'root', field: null, verdict: 'differs' })).toBe('root');
  expect(titleOf({ path: null, field: null, verdict: 'does_not_load' })).toBe('Does not load');
});

test.each([
  [{ field: 'output', place: 'total' }, 'output.total'],
  [{ field: 'output', place: '[0].sum' }, 'output[0].sum'],
  [{ field: 'output' }, 'output'],
  [{ field: 'state', place: 'session.total' }, 'session.total'],
  [{}, ''],
] as const)('%j differs at %s', (more, place) => expect(placeOf(run(more))).toBe(place));

test('a file that cannot be read has no name of a flow', () => {
  expect(runName(run({ flow: 'cart', action: 'pay' }))).toBe('cart.pay');
  expect(runName(run({}))).toBe('');
});

test('progress says how far it is', () => {
  expect(progressWords(null)).toContain('Finding the runs');
  expect(progressWords({ done: 37, of: 1200, bad: 0 })).toBe('37 of 1,200 runs verified');
  expect(progressWords({ done: 1, of: 1, bad: 1 })).toBe('1 of 1 run verified, 1 not as recorded');
});

test('a page without a group says why', () => {
  const [same, unaffected] = [run({ verdict: 'same' }), run({ verdict: 'unaffected' })];
  expect(restOf(countsOf([]), 0)).toBe('nothing');
  expect(restOf(countsOf([unaffected]), 0)).toBe('unaffected');
  expect(restOf(countsOf([unaffected, same]), 0)).toBe('same');
  expect(restOf(countsOf([same]), 3)).toBe('cancelled');
  expect(summaryWords(countsOf([same, run({})]), 2)).toBe('2 runs verified: 1 differ, 1 not as recorded, 2 not run.');
});

test('keys lead to a row of the list, and never out of it', () => {
  expect(['ArrowDown', 'ArrowUp', 'Home', 'End', 'PageDown', 'PageUp'].map((key) => rowAfter(key, 1, 30, 5))).toEqual([
    2, 0, 0, 29, 6, 0,
  ]);
  expect(rowAfter('ArrowDown', 29, 30, 5)).toBe(29);
  expect(rowAfter('x', 1, 30, 5)).toBeNull();
});

test.each([
  ['cart', 'pay', 'req_01J6FA2C1', 'tests/cart-pay-6FA2C1.run'],
  ['cart', 'pay', 'x1', 'tests/cart-pay-x1.run'],
  ['a/b', '../up', 'r..\\e', 'tests/a-b-up-r..-e.run'],
  ['über', 'größe', '******', 'tests/über-größe-run.run'],
])('%s.%s of %s is kept in %s', (flow, action, id, file) => expect(proposedFile(flow, action, id)).toBe(file));

test('a part of a long value stands as a text, and says of how much it is', () => {
  expect(sideOf({ $cut: 'tal":4}', bytes: 9000, from: 8993 })).toBe('…tal":4} (9,000 bytes)');
  expect(sideOf({ $cut: 'xxx', bytes: 9000, from: 0 })).toBe('xxx… (9,000 bytes)');
  const value = { $cut: 1 };
  expect(sideOf(value)).toBe(value);
  expect(sideOf(null)).toBe(null);
});

test('what a cancelled verification left out is named', () => {
  expect(missingWords([])).toBe('What has a verdict is shown.');
  expect(missingWords(['a', 'b'])).toContain('Not verified: a, b.');
  expect(missingWords(['a', 'b', 'c', 'd', 'e', 'f'])).toContain('a, b, c, d, e and 1 more.');
});
