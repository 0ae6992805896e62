import { expect, test } from 'vitest';
import { LatestQuery } from './latest-query.svelte';

/** A `LatestQuery` whose questions the test answers, in any order. */
function byHand() {
  const open: { question: number; answer: (a: string) => void; fail: (e: unknown) => void }[] = [];
  const latest = new LatestQuery<number, string>(
    (question) => new Promise((answer, fail) => open.push({ question, answer, fail })),
  );
  return { open, latest };
}
const settle = () => new Promise((resolve) => setTimeout(resolve));

test('only one question runs, and only the last one waits', async () => {
  const { open, latest } = byHand();
  for (const seq of [1, 2, 3, 4]) latest.ask(seq);
  expect(open.map((o) => o.question)).toEqual([1]);
  open[0]?.answer('one');
  await settle();
  expect(latest.answer).toBe('one');
  expect(latest.question).toBe(1);
  expect(open.map((o) => o.question)).toEqual([1, 4]);
});

test('an answer to a forgotten question is dropped', async () => {
  const { open, latest } = byHand();
  latest.ask(1);
  latest.clear();
  latest.ask(2);
  open[1]?.answer('two');
  open[0]?.answer('one');
  await settle();
  expect(latest.answer).toBe('two');
  expect(latest.busy).toBe(false);
});

test('a failure keeps the last answer, and the question can be asked again', async () => {
  const { open, latest } = byHand();
  latest.ask(1);
  open[0]?.answer('one');
  await settle();
  latest.ask(2);
  open[1]?.fail(new Error('broken'));
  await settle();
  expect(latest.answer).toBe('one');
  expect(latest.fault).toEqual({ kind: 'internal', message: 'broken' });
  latest.ask(2);
  expect(open).toHaveLength(3);
});

test('the same question is asked once unless its answer may have changed', async () => {
  const { open, latest } = byHand();
  latest.ask(1);
  open[0]?.answer('one');
  await settle();
  latest.ask(1);
  expect(open).toHaveLength(1);
  latest.ask(1, true);
  expect(open).toHaveLength(2);
});
