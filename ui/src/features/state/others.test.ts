import { expect, test } from 'vitest';
import type { ListedRequest } from '../../host/host';
import { othersOf } from './others';

const row = (id: string, flow: string) => ({ id, flow }) as ListedRequest;
const ids = (rows: ListedRequest[]) => rows.map((one) => one.id);

test('runs of the same flow come first, then others; none twice, and not the request itself', () => {
  const rows = [row('5', 'chat'), row('4', 'plan'), row('3', 'plan'), row('2', 'chat'), row('1', 'plan')];
  const { same, other } = othersOf(rows, { id: '3', flow: 'plan' }, [{ id: '2' }]);
  expect([ids(same), ids(other)]).toEqual([['4', '1'], ['5']]);
});

test('only the last ones are offered', () => {
  const rows = Array.from({ length: 30 }, (_, n) => row(`${n}`, n % 2 ? 'chat' : 'plan'));
  const { same, other } = othersOf(rows, { id: 'x', flow: 'plan' }, []);
  expect([same.length, other.length, same[0]?.id]).toEqual([8, 8, '0']);
});
