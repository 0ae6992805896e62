import { expect, test } from 'vitest';
import type { ViewRow } from '../../host/host';
import { standingOf } from './standing';

const row = (name: string, status: string, n: number) => ({ name, status, instanceId: `${name}:${n}` }) as ViewRow;

test('a block that ran several times stands as its most telling execution', () => {
  const found = standingOf([
    row('a', 'completed', 0),
    row('b', 'failed', 0),
    row('b', 'completed', 1),
    row('c', 'failed', 0),
    row('c', 'running', 1),
    { name: 'd', status: 'completed', instanceId: 'd', group: {} } as ViewRow,
  ]);
  expect(Object.fromEntries(found)).toEqual({
    a: { status: 'completed', runs: 1, failed: 0, instanceId: 'a:0' },
    b: { status: 'failed', runs: 2, failed: 1, instanceId: 'b:0' },
    c: { status: 'running', runs: 2, failed: 1, instanceId: 'c:1' },
  });
});
