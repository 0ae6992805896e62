import { expect, test } from 'vitest';
import type { ViewRow } from '../host/host';
import { labelOf, nameOf, turnOf } from './row-name';

const named = (label: string, more: Partial<ViewRow> = {}) => {
  const row = { label, ...more } as ViewRow;
  return [nameOf(row), turnOf(row)];
};
const turns = { group: { of: 'turns' } } as Partial<ViewRow>;

test.each([
  ['step:plan', 'plan'],
  ['tap:keepPlan', 'keepPlan'],
  ['parallel/web', 'web'],
  ['action.onCompleted:tidy', 'tidy'],
  ['branch:high%3Alow', 'high:low'],
])('a block is called by its name, without how it was called: %s', (label, name) => {
  expect(named(label)).toEqual([name, '']);
});

test.each([
  ['doUntil:one-angle[2]', 'one-angle', '[2]'],
  ['step:record~2', 'record', '#2'],
  ['parallel~2/web', 'web', '#2'],
  ['forEach:read~2[3]', 'read', '#2[3]'],
  ['loop[1]/step:ask', 'ask', '[1]'],
  ['loop~2[1]/loop[3]/step:ask~2', 'ask', '[1][3]#2'],
  ['tool:cite[0.1]', 'cite', '[0.1]'],
])('turns, passes and blocks of one name are told apart: %s', (label, name, turn) => {
  expect(named(label)).toEqual([name, turn]);
});

test('a turn of a conversation has the name of its agent', () => {
  expect(named('turn[2]:b', { name: 'seller' })).toEqual(['seller', '[2]']);
  expect(named('turn[2]:b')).toEqual(['b', '[2]']);
});

test('a group of turns has the name that they share', () => {
  expect(named('forEach:read', turns)).toEqual(['read', '']);
  expect(named('parallel: search', turns)).toEqual(['search', '']);
});

test('a place without a name has that of its block', () => {
  expect(named('root', { name: 'research-pipeline' })).toEqual(['research-pipeline', '']);
  expect(named('stepAll[1]', { name: 'search' })).toEqual(['search', '[1]']);
  expect(named('root')).toEqual(['root', '']);
});

test.each([
  ['root/step:ask', 'step:ask'],
  ['root/loop[1]/step:ask/tap:note', 'tap:note'],
  ['root/loop~2[1]/loop[3]/step:ask~2', 'loop~2[1]/loop[3]/step:ask~2'],
  ['root/parallel~2/web', 'parallel~2/web'],
  ['root', 'root'],
])('the end of a path names its block: %s', (path, label) => {
  expect(labelOf(path)).toBe(label);
});
