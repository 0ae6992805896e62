import { expect, test, vi } from 'vitest';
import type { Host, ListedRequest } from '../host/host';
import { REQUEST_PAGE, SessionRequests } from './requests.svelte';

/** A session of `count` requests, newest first; what is asked for is remembered as offsets. */
function session(count: number) {
  const rows = Array.from({ length: count }, (_, n) => ({ id: `r${count - n}`, status: 'completed' }) as ListedRequest);
  const asked: number[] = [];
  const requests: Host['requests'] = async ({ offset, limit }) => {
    asked.push(offset);
    return rows.slice(offset, offset + limit).map((row) => ({ ...row }));
  };
  return { rows, asked, list: new SessionRequests({ requests } as Host) };
}

const ids = (list: SessionRequests) => list.rows?.map((row) => row.id);
const more = (list: SessionRequests) => (list.more(), idle(list));
const idle = (list: SessionRequests) =>
  vi.waitFor(() => expect([list.busy, list.rows === null]).toEqual([false, false]));

test('every request of a long session can be reached, each page is read once', async () => {
  const { rows, asked, list } = session(2 * REQUEST_PAGE + 57);
  list.open('s');
  await idle(list);
  expect([list.rows?.length, list.hasMore]).toEqual([REQUEST_PAGE, true]);
  await more(list);
  await more(list);
  expect(ids(list)).toEqual(rows.map((row) => row.id));
  expect(list.hasMore).toBe(false);
  await more(list);
  expect(asked).toEqual([0, REQUEST_PAGE, 2 * REQUEST_PAGE]);
});

test('what is asked for while the list is read again is read after it', async () => {
  const { list } = session(REQUEST_PAGE + 1);
  list.open('s');
  await idle(list);
  list.refresh();
  list.more();
  await idle(list);
  expect(list.rows).toHaveLength(REQUEST_PAGE + 1);
});

test('a page that is exactly full is followed by an empty one, and then by none', async () => {
  const { list } = session(REQUEST_PAGE);
  list.open('s');
  await idle(list);
  expect(list.hasMore).toBe(true);
  await more(list);
  expect([list.rows?.length, list.hasMore]).toEqual([REQUEST_PAGE, false]);
});

test('new requests come to the front and none is lost or shown twice', async () => {
  const { rows, list } = session(2 * REQUEST_PAGE);
  list.open('s');
  await idle(list);
  rows.unshift({ id: 'new1' } as ListedRequest, { id: 'new2' } as ListedRequest);
  await more(list);
  list.refresh('new1');
  await idle(list);
  await more(list);
  expect(ids(list)).toEqual(rows.map((row) => row.id));
});

test('so many new ones that nothing joins them to the old list begin it anew', async () => {
  const { rows, list } = session(REQUEST_PAGE + 10);
  list.open('s');
  await idle(list);
  await more(list);
  rows.unshift(...Array.from({ length: REQUEST_PAGE }, (_, n) => ({ id: `new${n}` }) as ListedRequest));
  list.refresh();
  await idle(list);
  expect([list.rows?.length, list.hasMore]).toEqual([REQUEST_PAGE, true]);
  await more(list);
  await more(list);
  expect(ids(list)).toEqual(rows.map((row) => row.id));
});

test('a request far down that changes is read again in its place', async () => {
  const { rows, list } = session(3 * REQUEST_PAGE);
  list.open('s');
  await idle(list);
  await more(list);
  await more(list);
  const far = rows[2 * REQUEST_PAGE + 5] as ListedRequest;
  far.status = 'in_progress';
  list.refresh(far.id);
  await idle(list);
  expect(list.rows?.[2 * REQUEST_PAGE + 5]).toMatchObject({ id: far.id, status: 'in_progress' });
  expect(list.rows).toHaveLength(3 * REQUEST_PAGE);
});

test('what a session that was left answers is dropped; a failure is kept beside the list', async () => {
  let answer: (rows: ListedRequest[]) => void = () => {};
  const requests = vi.fn<Host['requests']>(() => new Promise((resolve) => (answer = resolve)));
  const list = new SessionRequests({ requests } as unknown as Host);
  list.open('s');
  const late = answer;
  list.open('t');
  late([{ id: 'of s' } as ListedRequest]);
  answer([{ id: 'of t' } as ListedRequest]);
  await idle(list);
  expect(ids(list)).toEqual(['of t']);
  requests.mockRejectedValueOnce(new Error('disk'));
  list.refresh();
  await vi.waitFor(() => expect(list.fault?.message).toBe('disk'));
  expect(ids(list)).toEqual(['of t']);
});
