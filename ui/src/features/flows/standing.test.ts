import { expect, test } from 'vitest';
import type { ViewRow } from '../../host/host';
import { placeOf, Standings } from './standing';

const row = (path: string, status: string, n: number) =>
  ({ name: path.split(/[:/]/).at(-1), path, attempt: n, status, instanceId: `r:${path}:${n}` }) as ViewRow;

test.each([
  ['root/loop[2]/step:a', 'root/step:a'],
  ['root/loop~2[1]/loop[3]/step:a~2', 'root/step:a~2'],
  ['root/forEach:b[17]/step:c', 'root/forEach:b/step:c'],
  ['root/forEach~2:b[0]', 'root/forEach~2:b'],
  ['root/step:bot/tool:look[1.0]', 'root/step:bot/tool:look'],
  ['root/turn[1]:a/handoff:other[0.2]', 'root/turn[1]:a/handoff:other'],
  ['root/stepAll[1]/step:a', 'root/stepAll[1]/step:a'],
  ['root/parallel/left', 'root/parallel/left'],
])('%s stands in the graph at %s', (path, place) => expect(placeOf(path)).toBe(place));

test('a block that ran several times has the status that says most', () => {
  const found = new Standings([
    row('root/step:b', 'failed', 0),
    row('root/step:b', 'completed', 1),
    row('root/forEach:c[0]', 'failed', 0),
    row('root/forEach:c[1]', 'running', 0),
    { ...row('root/step:d', 'completed', 0), group: {} } as ViewRow,
  ]);
  expect(found.at('root/step:b')).toEqual({ status: 'completed', runs: 1, failed: 0, instanceId: 'r:root/step:b:1' });
  expect(found.at('root/forEach:c')).toMatchObject({ status: 'running', runs: 2, failed: 1 });
  expect(found.at('root/step:d')).toBeNull();
});

test('a block of one name has its own status at each of its places', () => {
  const found = new Standings([
    row('root/step:record', 'completed', 0),
    row('root/step:inner/step:record', 'failed', 0),
    row('root/turn[0]:a/tool:find[0.0]', 'completed', 0),
  ]);
  expect(found.at('root/step:record')?.status).toBe('completed');
  expect(found.at('root/step:inner/step:record')?.status).toBe('failed');
  expect(found.at('root/step:other')).toBeNull();
  expect(found.inside('root/step:inner', 'record')?.status).toBe('failed');
  expect(found.inside('root/step:inner', 'find[0.0]')).toBeNull();
});
