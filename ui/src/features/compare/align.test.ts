import { expect, test } from 'vitest';
import type { ViewRow } from '../../host/host';
import { align } from './align';

const row = (path: string, status = 'completed', attempt = 0) => ({ path, status, attempt }) as ViewRow;
const said = (left: ViewRow[], right: ViewRow[]) => align(left, right).map((pair) => `${pair.path} ${pair.differs}`);

test('blocks stand beside each other by their paths', () => {
  const left = [row('root'), row('root/a'), row('root/b'), row('root/c')];
  const right = [row('root'), row('root/a'), row('root/x'), row('root/b', 'failed'), row('root/y')];
  expect(said(left, right)).toEqual([
    'root no',
    'root/a no',
    'root/x right',
    'root/b status',
    'root/c left',
    'root/y right',
  ]);
  expect(said([], right)).toHaveLength(5);
  expect(said([], [])).toEqual([]);
});

test('of a path the newest execution counts, and another order loses nothing', () => {
  expect(said([row('root/a', 'failed'), row('root/a', 'completed', 1)], [row('root/a')])).toEqual(['root/a no']);
  const swapped = said([row('root/a'), row('root/b')], [row('root/b'), row('root/a')]);
  expect([...swapped].sort()).toEqual(['root/a no', 'root/b no']);
});
