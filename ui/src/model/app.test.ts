import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FakeHost } from '../host/fake';
import type { FlowRow, Notice } from '../host/host';
import { trustFolder } from './actions';
import { AppModel } from './app.svelte';
import { Router } from './route.svelte';

let app: AppModel;
let tell: (notice: Notice) => void;

async function open(hash: string, host = new FakeHost(0, 0)) {
  history.replaceState(null, '', `#${hash}`);
  host.watch = async (onNotice) => {
    tell = onNotice;
    return () => {};
  };
  app = new AppModel(host, new Router(window));
  await app.start();
  return host;
}

beforeEach(() => localStorage.clear());
afterEach(() => app.stop());

test('a busy database is told in words of its own', async () => {
  await open('');
  tell({ kind: 'busy', workspace: '.flowglass/flowglass.db' });
  expect(app.faults.notes.map((note) => note.words.title)).toEqual(['Waiting']);
  expect(app.faults.notes[0]?.fault.message).toContain('.flowglass/flowglass.db locked');
});

test('a request that the database takes no more of is told once, with what to do', async () => {
  await open('');
  const message = 'x.db: the disk is full; nothing after the last stored step was kept: free space on it';
  for (const requestId of ['req-1', 'req-2'])
    tell({ kind: 'halted', workspace: '.flowglass/flowglass.db', requestId, message });
  expect(app.faults.notes.map((note) => note.fault)).toEqual([{ kind: 'storage', message }]);
  // What helps is in the message, which knows why.
  expect(app.faults.notes[0]?.words.advice).toBe('After that, resume or try again.');
});

test('a database whose file was removed is only read, which the workspace says as soon as the host does', async () => {
  const host = await open('');
  await vi.waitFor(() => expect(app.workspace.info.answer?.unwritable).toBeNull());
  const info = await host.workspace();
  host.workspace = async () => info && { ...info, unwritable: 'flowglass.db was removed or replaced' };
  tell({ kind: 'removed', workspace: '.flowglass/flowglass.db' });
  await vi.waitFor(() => expect(app.workspace.info.answer?.unwritable).toContain('was removed'));
});

test('a flow that was saved is read again, and not one of another folder', async () => {
  const host = await open('');
  await vi.waitFor(() => expect(app.workspace.flows.answer).toHaveLength(4));
  host.flows = async () => [{ kind: 'new', file: 'flows/new.ts', actions: [], hasMock: false }];
  tell({ kind: 'flows', workspace: '/elsewhere/flowglass.db' });
  await new Promise((done) => setTimeout(done, 50));
  expect(app.workspace.flows.answer).toHaveLength(4);
  tell({ kind: 'flows', workspace: '.flowglass/flowglass.db' });
  await vi.waitFor(() => expect(app.workspace.flows.answer?.map((flow) => flow.kind)).toEqual(['new']));
});

test('a folder that is trusted is opened again, and so is the request that was shown', async () => {
  const host = await open('session=ses-2&request=req-2');
  await vi.waitFor(() => expect(app.request.seq).toBeGreaterThan(20));
  const [opened, flows] = [vi.spyOn(host, 'openView'), vi.spyOn(host, 'flows')];
  await trustFolder(app, '/downloaded');
  await vi.waitFor(() => expect(opened).toHaveBeenCalledWith('req-2'));
  await vi.waitFor(() => expect(flows).toHaveBeenCalled());
});

test('after another folder was opened, notices of the first one reach nothing', async () => {
  const host = await open('session=ses-2&request=req-2');
  await vi.waitFor(() => expect(app.request.seq).toBeGreaterThan(20));
  host.chooseWorkspace = async (dir) => ({ ...(await host.workspace()), dir, dataFile: `${dir}/flowglass.db` });
  await app.openWorkspace('/second');
  await vi.waitFor(() => expect(app.workspace.sessions.busy).toBe(false));
  app.openRequest('ses-2', 'req-2');
  await vi.waitFor(() => expect(app.request.seq).toBeGreaterThan(20));
  const asked = (['flows', 'sessions', 'requests'] as const).map((name) => vi.spyOn(host, name));
  const request = { requestId: 'req-2', sessionId: 'ses-2', seq: 99, status: 'completed' } as const;
  const all: Notice['kind'][] = ['flows', 'sessions', 'busy', 'request'];
  const from = (workspace: string) => all.forEach((kind) => tell({ kind, workspace, ...request } as Notice));
  from('.flowglass/flowglass.db');
  await new Promise((done) => setTimeout(done, 600));
  expect(asked.map((spy) => spy.mock.calls.length)).toEqual([0, 0, 0]);
  expect(app.faults.notes).toEqual([]);
  from('/second/flowglass.db');
  await vi.waitFor(() => expect(asked.map((spy) => spy.mock.calls.length > 0)).toEqual([true, true, true]));
  expect(app.faults.notes).toHaveLength(1);
});

test('a folder that somebody changed is read again once, with its filter and its conversation', async () => {
  const host = await open('session=ses-2&request=req-2&tab=items');
  await vi.waitFor(() => expect(app.request.seq).toBeGreaterThan(20));
  await vi.waitFor(() => expect(app.items.answer).not.toBeNull());
  app.route.go({ filter: 'status:failed' });
  await vi.waitFor(() => expect(app.request.filter).toBe('status:failed'));
  const rows = app.request.rows.total;
  const asked = (['reopenWorkspace', 'openView', 'viewItems', 'requests'] as const).map((name) => vi.spyOn(host, name));
  for (let n = 0; n < 3; n++) tell({ kind: 'outdated', workspace: '.flowglass/flowglass.db' });
  await vi.waitFor(() => expect(asked.every((spy) => spy.mock.calls.length > 0)).toBe(true));
  await vi.waitFor(() => expect(app.request.rows.total).toBe(rows));
  expect(asked[0]?.mock.calls).toHaveLength(1);
  expect(asked[1]?.mock.calls).toHaveLength(1);
});

test('a request that is deleted while it is looked at is said to be gone', async () => {
  const host = await open('session=ses-2&request=req-2');
  await vi.waitFor(() => expect(app.request.seq).toBeGreaterThan(20));
  tell({ kind: 'sessions', workspace: '.flowglass/flowglass.db' });
  await new Promise((done) => setTimeout(done, 20));
  expect(app.request.fault).toBeNull();
  host.requests = () => Promise.reject({ kind: 'notFound', message: 'unknown session "ses-2"' });
  tell({ kind: 'sessions', workspace: '.flowglass/flowglass.db' });
  await vi.waitFor(() => expect(app.request.fault?.message).toContain('req-2 was deleted'));
  expect(app.request.rows.total).toBeGreaterThan(0);
});

test("what the first folder answers late is not shown as the second one's", async () => {
  const host = new FakeHost(0, 0);
  let late: (flows: FlowRow[]) => void = () => {};
  const flows = vi.spyOn(host, 'flows').mockImplementationOnce(() => new Promise((resolve) => (late = resolve)));
  await open('', host);
  await vi.waitFor(() => expect(flows).toHaveBeenCalledTimes(1));
  flows.mockImplementation(async () => []);
  app.kept.set('draft chat.send', 'typed');
  await app.openWorkspace('/second');
  late([{ kind: 'first', file: 'flows/first.ts', actions: [], hasMock: false }]);
  await vi.waitFor(() => expect(app.workspace.flows.answer).toEqual([]));
  expect(app.workspace.info.answer?.dir).toBe('/second');
  expect(app.kept.size).toBe(0);
});

test('a link to a request alone finds its session', async () => {
  await open('request=req-2');
  await vi.waitFor(() => expect(app.requests.rows?.map((row) => row.id)).toEqual(['req-3', 'req-2']));
  expect(app.session).toBe('ses-2');
});

test('the slider asks for its instant and for the step before it', async () => {
  const host = await open('session=ses-2&request=req-2');
  await vi.waitFor(() => expect(app.request.seq).toBeGreaterThan(20));
  const diff = vi.spyOn(host, 'diff');
  const end = (await app.request.step(20, 'previousEnd')) ?? 0;
  expect(end).toBeGreaterThan(1);
  app.seek(end + 1);
  await vi.waitFor(() => expect(app.stateAt.question?.seq).toBe(end + 1));
  await vi.waitFor(() => expect(diff).toHaveBeenCalledWith('req-2', end, end + 1));
});

test('the end of a finished request is compared with the instant before its first block', async () => {
  const host = await open('');
  const diff = vi.spyOn(host, 'diff');
  app.openRequest('ses-2', 'req-2');
  await vi.waitFor(() => expect(app.stateAt.answer?.seq).toBe(app.request.seq));
  // What the scopes were filled with at the start, and what other requests wrote before, is no change of this one.
  expect(app.request.start).toBe((app.request.rows.get(0)?.seqStart ?? 0) - 1);
  expect(diff).toHaveBeenCalledWith('req-2', app.request.start, app.request.seq);
});

test('the last event of the slider means following', async () => {
  await open('session=ses-2&request=req-2&seq=5');
  await vi.waitFor(() => expect(app.cursor).toBe(5));
  app.seek(app.request.seq);
  expect(app.route.place.seq).toBeNull();
  app.seek(-3);
  expect(app.route.place.seq).toBe(1);
});

test('a dragged slider keeps one question under way', async () => {
  const host = await open('session=ses-2&request=req-2');
  await vi.waitFor(() => expect(app.stateAt.busy).toBe(false));
  await vi.waitFor(() => expect(app.stateAt.answer).not.toBeNull());
  let under = 0;
  let most = 0;
  const real = host.stateAt.bind(host);
  host.stateAt = async (request, seq) => {
    most = Math.max(most, ++under);
    await new Promise((resolve) => setTimeout(resolve, 5));
    under--;
    return real(request, seq);
  };
  for (let seq = 2; seq < 60; seq++) app.seek(seq);
  await vi.waitFor(() => expect(app.stateAt.answer?.state.seq).toBe(59), 3000);
  expect(most).toBe(1);
});

test('what fails becomes a note and nothing else', async () => {
  await open('');
  expect(await app.try(() => Promise.reject(new Error('no disk')))).toBeUndefined();
  await app.try(() => Promise.reject(new Error('no disk')));
  expect(app.faults.notes.map((note) => note.fault.message)).toEqual(['no disk']);
});

test('what the window shows is kept for the next start, also if it never changes', async () => {
  const host = await open('request=req-2&pane=inspector&filter=status:failed');
  await vi.waitFor(() => expect(host.folderSettings.keptWindow).toContain('pane=inspector'), 2_000);
  expect(host.folderSettings.keptWindow).toContain('status');
  app.findRequest('req-3');
  await vi.waitFor(() => expect(host.folderSettings.keptWindow).toContain('request=req-3'), 2_000);
});
