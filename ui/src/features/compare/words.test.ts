import { expect, test } from 'vitest';
import type { ComparedBlock, ComparedRow } from '../../host/host';
import { executionOf, differsIn, longer, more, namesOf, signOf, titleOf, timesOf } from './words';

const block = (fields: Partial<ComparedBlock>): ComparedBlock => ({
  instanceId: 'r:root:0',
  status: 'completed',
  startedMs: 0,
  attempts: 1,
  memoized: false,
  items: 0,
  changes: 0,
  modelCalls: 0,
  tokens: 0,
  seqStart: 1,
  ...fields,
});
const row = (fields: Partial<ComparedRow>): ComparedRow => ({
  row: 0,
  equal: 0,
  depth: 0,
  path: 'root',
  name: 'root',
  differs: [],
  inside: false,
  left: block({}),
  right: block({}),
  ...fields,
});

test('a row says in what its blocks differ', () => {
  expect(differsIn(row({}))).toBe('');
  expect(differsIn(row({ inside: true }))).toBe('inside');
  expect(differsIn(row({ differs: ['output', 'items'], right: block({ items: 2 }) }))).toBe('output · items 0 → 2');
  const failed = row({ differs: ['status'], left: block({ status: 'failed' }) });
  expect(differsIn(failed)).toBe('Failed → Completed');
  expect(differsIn(row({ equal: 7 }))).toBe('');
});

test('a sign has a word', () => {
  expect(signOf(row({ equal: 1 }))).toEqual({ sign: '⋯', label: '1 equal block' });
  expect(signOf(row({ differs: ['only_right'] }))).toEqual({ sign: '+', label: 'only in B' });
  expect(signOf(row({ differs: ['output'] })).sign).toBe('≠');
  expect(signOf(row({})).sign).toBe('=');
  expect(signOf(row({ equal: 19, uncompared: true })).label).toBe('19 blocks not compared');
  expect(signOf(row({ uncompared: true })).label).toBe('not compared');
});

test('differences have a sign', () => {
  expect(longer(1000, 1250)).toBe('+250 ms');
  expect(longer(1250, 1000)).toBe('−250 ms');
  expect(longer(5, 5)).toBe('0');
  expect(longer(undefined, 5)).toBe('');
  expect(more(4100, 100)).toBe('−4,000');
});

test('an execution is named by its path and its attempt', () => {
  expect(executionOf({ instanceId: 'req-1:root/step:a~2/forEach:b[0]:3' })).toBe('root/step:a~2/forEach:b[0]#3');
  expect(executionOf({ instanceId: 'req-1:root:0' })).toBe('root#0');
});

test('turns and entries of a list are told apart by their index and their words', () => {
  const entry = row({ path: 'root/forEach:price[1]', name: 'price', words: 'Red chair' });
  expect(namesOf(entry)).toEqual({ name: 'price', turn: '[1]', words: 'Red chair' });
  expect(titleOf(entry)).toBe('price [1] Red chair');
  expect(titleOf(row({ path: 'root/loop[2]/step:ask', name: 'ask' }))).toBe('ask [2]');
  expect(namesOf(row({ path: 'root/step:plan', name: 'plan', words: 'x' })).words).toBe('');
});

test('both sides took as long as lists say, if lists say the same kind of time of both', () => {
  const side = (durationMs: number | null, lengthMs: number, isFork = false) => ({
    lengthMs,
    request: { durationMs, forkedFrom: isFork ? { requestId: 'r', seq: 3 } : null },
  });
  const plain = timesOf({ left: side(51, 307), right: side(60, 30) });
  expect(plain).toMatchObject({ label: 'time', left: 51, right: 60 });
  const running = timesOf({ left: side(null, 307), right: side(60, 30) });
  expect(running).toMatchObject({ label: 'time of all blocks', left: 307, right: 30 });
  // A list says of a fork what it did itself, and of its origin the whole.
  const fork = timesOf({ left: side(900, 890), right: side(60, 850, true) });
  expect(fork).toMatchObject({ label: 'time of all blocks', left: 890, right: 850 });
  expect(fork.title).toContain('keeps of its origin');
});
