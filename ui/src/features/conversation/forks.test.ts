import { expect, test } from 'vitest';
import type { ForkRow } from '../../host/host';
import { branchesOf } from './forks';

const fork = (id: string, parent?: string) => ({ id, parent }) as ForkRow;
const shape = (forks: ForkRow[]) => branchesOf(forks).map(({ fork, depth }) => `${'-'.repeat(depth)}${fork.id}`);

test('each fork is below what it was forked from, in the order of the list', () => {
  expect(shape([fork('a'), fork('b', 'a'), fork('c', 'a'), fork('d', 'b')])).toEqual(['a', '-b', '--d', '-c']);
  expect(shape([])).toEqual([]);
});

test('what has no parent here is a beginning, and a deep tree is no recursion', () => {
  expect(shape([fork('b', 'gone'), fork('c', 'b'), fork('x', 'x')])).toEqual(['b', '-c', 'x']);
  const deep = Array.from({ length: 20_000 }, (_, n) => fork(`f${n}`, n ? `f${n - 1}` : undefined));
  expect(branchesOf(deep)[19_999]?.depth).toBe(19_999);
});
