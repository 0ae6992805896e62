import { expect, test, vi } from 'vitest';
import { FakeHost } from '../host/fake';
import { LOAD, LoadHost } from '../host/load';
import type { Host, ViewBatch, ViewHead } from '../host/host';
import { OpenRequest } from './request.svelte';

const open = async (host: Host, id: string) => {
  const advanced = vi.fn();
  const request = new OpenRequest(host, advanced);
  await request.connect();
  request.open(id);
  await vi.waitFor(() => expect(request.rows.total).toBeGreaterThan(0));
  return { request, advanced };
};
const statuses = (request: OpenRequest) =>
  Array.from({ length: request.rows.total }, (_, n) => request.rows.get(n)?.status);

test('an opened request knows its counts, and holds rows only of what is on screen', async () => {
  const host = new LoadHost(12_000);
  const asked = vi.spyOn(host, 'viewRows');
  const { request } = await open(host, LOAD);
  expect(request.counts.blocks).toBeGreaterThan(5000);
  expect(request.row?.status).toBe('completed');
  await request.fold(null, false);
  expect(request.rows.total).toBeGreaterThan(5000);
  request.rows.show(3000, 3030);
  await vi.waitFor(() => expect(request.rows.get(3010)).toBeDefined());
  expect(request.rows.get(1500)).toBeUndefined();
  expect(Math.max(...asked.mock.calls.map(([, query]) => query.limit))).toBeLessThanOrEqual(512);
  request.disconnect();
});

test('a request that runs advances by batches, and answers each when it is on screen', async () => {
  const host = new FakeHost(1, 0);
  const acknowledged = vi.spyOn(host, 'viewAck');
  const started = await host.startRun({ flow: 'chat', action: 'send', userId: 'ada', input: 'hi', mock: true });
  const { request, advanced } = await open(host, started.requestId);
  expect(request.live).toBe(true);
  await vi.waitFor(() => expect(request.live).toBe(false), 20_000);
  await vi.waitFor(() => expect(new Set(statuses(request))).toEqual(new Set(['completed'])));
  expect(request.counts.finished).toBe(request.counts.blocks);
  expect(request.seq).toBe((await host.openView(started.requestId)).seq);
  expect(advanced.mock.calls.length).toBeGreaterThan(3);
  expect(acknowledged.mock.calls.length).toBeGreaterThan(3);
  expect(request.progress.words).toContain(`${request.counts.blocks} of ${request.counts.blocks} blocks finished`);
  request.disconnect();
});

test('without an answer to a batch nothing more is sent, and the next one tells all', async () => {
  const host = new FakeHost(0.01, 0);
  const batches: ViewBatch[] = [];
  await host.viewUpdates((batch) => batches.push(batch));
  const { requestId } = await host.startRun({ flow: 'chat', action: 'send', userId: 'ada', input: 'hi', mock: true });
  await host.openView(requestId);
  await vi.waitFor(
    async () => expect((await host.requests({ limit: 1, offset: 0 }))[0]?.status).toBe('completed'),
    5000,
  );
  expect(batches).toHaveLength(1);
  await host.viewAck(batches[0]?.batch ?? 0);
  await vi.waitFor(() => expect(batches).toHaveLength(2));
  expect(batches[1]?.updates[0]?.request.status).toBe('completed');
});

test('the answer to a request that was left is dropped, and its view closed', async () => {
  let answer: (head: ViewHead) => void = () => {};
  const closed = vi.fn(async () => {});
  const openView = vi.fn(() => new Promise((resolve) => (answer = resolve)));
  const host = { openView, closeView: closed } as unknown as Host;
  const request = new OpenRequest(host, () => {});
  request.open('r');
  await vi.waitFor(() => expect(openView).toHaveBeenCalled());
  request.open(null);
  answer({ view: 7 } as ViewHead);
  await vi.waitFor(() => expect(closed).toHaveBeenCalledWith(7));
  expect(request.row).toBeNull();
});

test('a failure is kept to be shown, and opening again clears it', async () => {
  const host = new FakeHost(0, 0);
  const real = host.openView.bind(host);
  host.openView = () => Promise.reject(new Error('disk'));
  const request = new OpenRequest(host, () => {});
  request.open('req-1');
  await vi.waitFor(() => expect(request.fault?.message).toBe('disk'));
  host.openView = real;
  request.reload();
  await vi.waitFor(() => expect(request.row?.status).toBe('completed'));
  expect(request.fault).toBeNull();
  request.disconnect();
});

test('a filter that is wrong says where, and leaves the rows', async () => {
  const { request } = await open(new FakeHost(0, 0), 'req-3');
  const all = request.rows.total;
  await request.setFilter('status:lost');
  expect(request.filtering.fault).toMatchObject({ kind: 'invalid' });
  expect(request.rows.total).toBe(all);
  await request.setFilter('status:failed name:check');
  expect(request.filtering).toMatchObject({ matches: 1, fault: null });
  expect(request.rows.total).toBeLessThan(all);
  expect(request.rows.get(0)).toMatchObject({ path: 'root', matches: false });
  await request.setFilter('');
  expect(request.rows.total).toBe(all);
  request.disconnect();
});

test('the step before an instant is the end before it, and at last the start', async () => {
  const { request } = await open(new FakeHost(0, 0), 'req-2');
  const first = (await request.step(0, 'nextEnd')) ?? 0;
  expect(await request.stepBefore(first + 1)).toBe(first);
  expect(await request.stepBefore(first)).toBe(request.start);
  expect(request.start).toBe((request.rows.get(0)?.seqStart ?? 0) - 1);
  request.disconnect();
});

test('opened anew, its rows are folded and filtered as they were; another request is as it comes', async () => {
  const host = new FakeHost(0, 0, true);
  const { request } = await open(host, 'req-4');
  await request.fold(null, false);
  const row = Array.from({ length: 40 }, (_, n) => request.rows.get(n)).find(
    (one) => one?.hasChildren && one.depth > 0,
  );
  await request.fold(row?.node ?? 0, true);
  const [total, shown] = [request.rows.total, statuses(request)];
  request.reload();
  await vi.waitFor(() => expect(request.rows.total).toBe(total));
  await request.rows.settled();
  expect(request.rows.get(request.rows.indexOf((one) => one.node === row?.node))?.isFolded).toBe(true);
  expect(statuses(request)).toEqual(shown);
  await request.fold(row?.node ?? 0, false);
  expect(request.rows.total).toBeGreaterThan(total);
  const asked = vi.spyOn(host, 'viewFold');
  request.open('req-1');
  await vi.waitFor(() => expect(request.rows.total).toBeGreaterThan(0));
  expect(asked).not.toHaveBeenCalled();
});

test('a filter that arrives after its request was left filters nothing', async () => {
  const host = new FakeHost(0, 0);
  const { request } = await open(host, 'req-3');
  const real = host.viewFilter.bind(host);
  let answer = () => {};
  host.viewFilter = (view, text) =>
    new Promise((resolve, reject) => (answer = () => void real(view, text).then(resolve, reject)));
  const filtered = request.setFilter('status:failed name:check');
  request.open('req-2');
  answer();
  await filtered;
  await vi.waitFor(() => expect(request.rows.total).toBeGreaterThan(0));
  expect(request.filter).toBe('');
  request.disconnect();
});

test('an update that overtakes the answer to a reload is kept', async () => {
  const host = new FakeHost(1, 0);
  const { requestId } = await host.startRun({ flow: 'chat', action: 'send', userId: 'ada', input: 'hi', mock: true });
  const { request } = await open(host, requestId);
  const real = host.openView.bind(host);
  let goOn = () => {};
  const held = new Promise<void>((resolve) => (goOn = resolve));
  host.openView = async (id) => {
    const head = await real(id);
    await held;
    return head;
  };
  request.reload();
  await vi.waitFor(
    async () => expect((await host.requests({ limit: 1, offset: 0 }))[0]?.status).toBe('completed'),
    5000,
  );
  goOn();
  await vi.waitFor(() => expect(request.live).toBe(false), 20_000);
  request.disconnect();
});

test('a request that was read ahead is shown at once, and one that is not wanted any more is closed', async () => {
  const host = new FakeHost(0, 0);
  const { request, advanced } = await open(host, 'req-1');
  const closed = vi.spyOn(host, 'closeView');
  await request.prepare('req-2', '');
  expect([request.id, request.row?.id]).toEqual(['req-1', 'req-1']);
  advanced.mockClear();
  request.open('req-2');
  expect([request.row?.id, request.rows.total > 0, request.loading]).toEqual(['req-2', true, false]);
  expect(advanced).toHaveBeenCalledOnce();
  // The view of the one before.
  expect(closed).toHaveBeenCalledOnce();
  await request.prepare('req-1', '');
  await request.prepare('req-3', 'status:failed');
  expect(closed).toHaveBeenCalledTimes(2);
  request.open('req-3', 'status:failed');
  expect([request.row?.id, request.filter]).toEqual(['req-3', 'status:failed']);
  await request.prepare('nobody', '');
  request.open('nobody');
  expect([request.row, request.fault === null]).toEqual([null, false]);
  request.disconnect();
});
