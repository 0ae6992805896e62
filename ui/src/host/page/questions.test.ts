import { expect, test } from 'vitest';
import type { EventRow } from '../host';
import { openQuestions } from './questions';

const event = (seq: number, kind: string, payload: unknown = {}): EventRow =>
  ({ seq, at: seq * 10, kind, path: 'root/step:ask', payload }) as EventRow;
const asked = (id: string) => ({ id, ordinal: 0, reason: 'approval', message: `May ${id}?`, allow: ['approve'] });

const log = [
  event(1, 'request_started'),
  event(2, 'suspended', asked('first')),
  event(3, 'suspension_resolved', { id: 'first', resolution: 'approved' }),
  event(4, 'suspended', asked('second')),
  ...Array.from({ length: 900 }, (_, n) => event(5 + n, 'logged')),
  event(905, 'suspended', asked('third')),
];
const events = async (_: string, from: number, limit: number) => log.slice(from - 1, from - 1 + limit);
const request = { id: 'r', sessionId: 's', status: 'suspended' };

test('the questions without an answer are found, newest first', async () => {
  const found = await openQuestions(request, 905, events);
  expect(found.map((one) => [one.id, one.seq])).toEqual([
    ['third', 905],
    ['second', 4],
  ]);
  expect(found[0]).toMatchObject({
    requestId: 'r',
    sessionId: 's',
    path: 'root/step:ask',
    message: 'May third?',
    status: 'pending',
    createdAt: 9050,
  });
  expect(await openQuestions({ ...request, status: 'completed' }, 905, events)).toEqual([]);
});
