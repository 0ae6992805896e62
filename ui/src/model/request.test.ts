import { expect, test, vi } from 'vitest';
import type { BlockRow, Host, RequestRow, Timeline } from '../host/host';
import { OpenRequest } from './request.svelte';

const row = (more: Partial<RequestRow> = {}): RequestRow => ({
  id: 'r',
  sessionId: 's',
  flow: 'f',
  action: 'a',
  userId: 'u',
  status: 'in_progress',
  startedAt: 0,
  mock: true,
  lastSeq: 0,
  ...more,
});
const block = (name: string, more: Partial<BlockRow> = {}): BlockRow => ({
  path: name,
  instanceId: name,
  parent: name === 'root' ? null : 'root',
  name,
  kind: 'handler',
  attempt: 0,
  status: 'running',
  startedAt: 0,
  memoized: false,
  seqStart: 1,
  seqEnd: null,
  changes: 0,
  items: 0,
  ...more,
});

/** A host that answers timeline questions from a list, and remembers what was asked. */
function scripted(answers: (Timeline | Error)[]) {
  const asked: number[] = [];
  const timeline = async (_id: string, after: number) => {
    asked.push(after);
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    if (!answer) throw new Error('asked too often');
    return answer;
  };
  return { host: { timeline } as unknown as Host, asked };
}

test('answers are merged: known blocks change in place, new ones come at the end', async () => {
  const { host, asked } = scripted([
    { request: row(), seq: 3, blocks: [block('root'), block('a', { seqStart: 2 })] },
    {
      request: row(),
      seq: 6,
      blocks: [block('a', { seqStart: 2, seqEnd: 4, status: 'failed' }), block('b', { seqStart: 5 })],
    },
  ]);
  const request = new OpenRequest(host, () => {});
  request.open('r');
  await vi.waitFor(() => expect(request.blocks).toHaveLength(2));
  request.refresh();
  await vi.waitFor(() => expect(request.seq).toBe(6));
  expect(request.blocks.map((one) => [one.name, one.status])).toEqual([
    ['root', 'running'],
    ['a', 'failed'],
    ['b', 'running'],
  ]);
  expect(asked).toEqual([0, 3]);
  expect(request.boundaries).toEqual([4]);
  expect(request.errors).toEqual([4]);
  expect(request.stepBefore(6)).toBe(4);
  expect(request.stepBefore(4)).toBe(0);
  request.open(null);
});

test('when a run ends everything is read once more, because blocks may have been abandoned without an event', async () => {
  const { host, asked } = scripted([
    { request: row(), seq: 2, blocks: [block('root')] },
    { request: row({ status: 'interrupted' }), seq: 2, blocks: [] },
    { request: row({ status: 'interrupted' }), seq: 2, blocks: [block('root', { status: 'abandoned' })] },
  ]);
  const request = new OpenRequest(host, () => {});
  request.open('r');
  await vi.waitFor(() => expect(request.seq).toBe(2));
  request.refresh();
  await vi.waitFor(() => expect(request.blocks[0]?.status).toBe('abandoned'));
  expect(asked).toEqual([0, 2, 0]);
  expect(request.live).toBe(false);
});

test('the answer to a request that was left is dropped', async () => {
  let answer: (timeline: Timeline) => void = () => {};
  const request = new OpenRequest(
    { timeline: () => new Promise((resolve) => (answer = resolve)) } as unknown as Host,
    () => {},
  );
  request.open('r');
  request.open(null);
  answer({ request: row(), seq: 9, blocks: [block('root')] });
  await new Promise((resolve) => setTimeout(resolve));
  expect(request.row).toBeNull();
});

test('a failure is kept to be shown, and reading again clears it', async () => {
  const { host } = scripted([new Error('disk'), { request: row({ status: 'completed' }), seq: 1, blocks: [] }]);
  const request = new OpenRequest(host, () => {});
  request.open('r');
  await vi.waitFor(() => expect(request.fault?.message).toBe('disk'));
  request.reload();
  await vi.waitFor(() => expect(request.row?.status).toBe('completed'));
  expect(request.fault).toBeNull();
});
