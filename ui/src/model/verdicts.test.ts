import { expect, test } from 'vitest';
import type { VerifiedRun } from '../host/host';
import {
  allBadgesTip,
  badgesOf,
  badgeTip,
  badgeWords,
  countsOf,
  groupsOf,
  keyOfRun,
  merged,
  whyNotAccepted,
} from './verdicts';

const run = (requestId: string, more: Partial<VerifiedRun> = {}): VerifiedRun => ({
  requestId,
  flow: 'cart',
  action: 'pay',
  verdict: 'differs',
  path: 'root/step:tax',
  field: 'output',
  ...more,
});
const idsOf = (runs: readonly VerifiedRun[]) => runs.map(keyOfRun);

test('verdicts are counted', () => {
  const counts = countsOf([run('a'), run('b', { verdict: 'same' }), run('c'), run('d', { verdict: 'does_not_load' })]);
  expect(counts).toEqual({ differs: 2, asks_new: 0, does_not_load: 1, not_comparable: 0, same: 1, unaffected: 0 });
});

test('runs that differ for one reason are one group, the largest first, and good ones are none', () => {
  const groups = groupsOf([
    run('one', { path: 'root/step:sum' }),
    run('a', { path: 'root/forEach:line[0]/step:tax' }),
    run('same', { verdict: 'same', path: null, field: null }),
    run('b', { path: 'root/forEach:line[12]/step:tax' }),
    run('c', { path: 'root/forEach:line[1]/step:tax', field: 'state' }),
    run('d', { path: 'root/step:sum', flow: 'other' }),
    run('e', { path: 'root/step:sum', flow: 'other', verdict: 'asks_new' }),
    run('unaffected', { verdict: 'unaffected', path: null, field: null }),
  ]);
  expect(groups.map(({ path, field, flow, flows, runs }) => [path, field, flow, flows, idsOf(runs)])).toEqual([
    ['root/step:sum', 'output', null, ['cart', 'other'], ['one', 'd']],
    ['root/forEach:line[*]/step:tax', 'output', 'cart', ['cart'], ['a', 'b']],
    ['root/forEach:line[*]/step:tax', 'state', 'cart', ['cart'], ['c']],
    ['root/step:sum', 'output', 'other', ['other'], ['e']],
  ]);
});

test('a reason that names each run is one reason, and no word of it is taken for an id', () => {
  const fails = (id: string) => run(id, { verdict: 'not_comparable', path: null, field: null, why: `${id} is broken` });
  expect(groupsOf([fails('a'), fails('b.c'), fails('is')]).map((one) => one.why)).toEqual([
    '… is broken',
    '… … broken',
  ]);
  const asks = run('th', { verdict: 'asks_new', why: 'something that was not recorded' });
  expect(groupsOf([asks])[0]?.why).toBe('something that was not recorded');
});

test('files that are wrong in the same way at other lines are one group', () => {
  const wrong = (file: string, line: number, what: string) =>
    run('r', { file, verdict: 'not_comparable', path: null, field: null, why: `${file}, line ${line}: ${what}` });
  const groups = groupsOf([
    wrong('a.run', 3, 'not JSON'),
    wrong('b.run', 44, 'not JSON'),
    wrong('c.run', 3, 'too long'),
  ]);
  expect(groups.map(({ why, runs }) => [why, runs.length])).toEqual([
    ['…, line …: not JSON', 2],
    ['…, line 3: too long', 1],
  ]);
});

test('newer verdicts take the place of older ones, and new runs come first', () => {
  const known = [run('a'), run('b'), run('x', { file: 'x.run' })];
  const newer = [run('c'), run('b', { verdict: 'same' }), run('x', { file: 'x.run', verdict: 'same' })];
  expect(merged(known, newer).map((one) => [keyOfRun(one), one.verdict])).toEqual([
    ['c', 'differs'],
    ['a', 'differs'],
    ['b', 'same'],
    ['x.run', 'same'],
  ]);
});

test('a badge counts what differs, or else what asks something new', () => {
  const badges = badgesOf([
    run('a'),
    run('b', { verdict: 'asks_new' }),
    run('c', { flow: 'chat', verdict: 'asks_new' }),
    run('d', { flow: 'calm', verdict: 'same' }),
    run('e', { flow: 'gone', verdict: 'does_not_load' }),
    run('f', { flow: null }),
  ]);
  expect([...badges]).toEqual([
    ['cart', { differs: 1, asksNew: 1 }],
    ['chat', { differs: 0, asksNew: 1 }],
  ]);
  expect([...badges.values()].map(badgeWords)).toEqual(['1 differs', '1 asks new']);
  expect(allBadgesTip(badges, false)).toBe(
    '1 recorded run differs with the current code, 2 ask something that was not recorded.',
  );
  expect(allBadgesTip(new Map(), true)).toBe('');
  expect(badgeWords({ differs: 1200, asksNew: 0 })).toBe('1,200 differ');
  expect(badgeTip({ differs: 3, asksNew: 1 }, true)).toBe(
    '3 recorded runs differ with the current code, 1 asks something that was not recorded. Only runs of the last 7 days were verified.',
  );
});

test('only what differs can be accepted', () => {
  expect(whyNotAccepted({ verdict: 'differs' })).toBeNull();
  for (const verdict of ['asks_new', 'does_not_load', 'not_comparable', 'same', 'unaffected'] as const)
    expect(whyNotAccepted({ verdict })).toMatch(/^[A-Z].*[^.]$/);
});

test('of a reason only the numbers of lines and events are left out', () => {
  const why = (nth: number, why: string) => run(`q${nth}`, { verdict: 'not_comparable', why });
  const reasons = [
    why(1, 'event 3: the model is gpt-4'),
    why(2, 'event 44: the model is gpt-4'),
    why(3, 'event 3: the model is gpt-5'),
    why(4, 'line 7: format 7'),
    why(5, 'line 9: format 8'),
  ];
  expect(groupsOf(reasons).map((group) => [group.why, group.runs.length])).toEqual([
    ['event …: the model is gpt-4', 2],
    ['event 3: the model is gpt-5', 1],
    ['line 7: format 7', 1],
    ['line 9: format 8', 1],
  ]);
});
