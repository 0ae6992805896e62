// The screens around a request, in the whole window over the recorded host: home, the state, what waits, panes.
import { cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/svelte';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import App from './App.svelte';
import { entriesOf } from './commands';
import { FakeHost } from './host/fake';
import type { Change, Fault, RequestRow, SuspensionRow, TextQuery } from './host/host';
import { keyGroups } from './keys';
import { AppModel } from './model/app.svelte';
import { isOffered, titleOf } from './model/command';
import { Router } from './model/route.svelte';

let app: AppModel;

async function open(hash = '', host = new FakeHost(0, 0)) {
  history.replaceState(null, '', `#${hash}`);
  app = new AppModel(host, new Router(window));
  render(App, { props: { app } });
  return host;
}

beforeEach(() => localStorage.clear());
afterEach(cleanup);

test('without a folder there is one screen that says how to begin', async () => {
  const host = new FakeHost(0, 0);
  host.workspace = async () => null as never;
  await open('', host);
  const home = await screen.findByTestId('home');
  expect(home.textContent).toContain('See what your AI flows do');
  expect(screen.queryByTestId('workspace')).toBeNull();
  expect(screen.queryByLabelText('Sessions')).toBeNull();
  await fireEvent.click(screen.getByTestId('home-path'));
  expect(await screen.findByTestId('folder')).toBeTruthy();
});

test('home shows the last runs, and one opens', async () => {
  await open();
  const rows = await screen.findAllByTestId('last-run');
  expect(rows[0]?.textContent).toContain('FlowError: plan[1].done: expected boolean');
  expect(rows[1]?.textContent).toContain('wild bees');
  // A time of day would not say of which day; rows of several days stand below each other.
  expect(screen.getAllByTestId('last-run-age').map((one) => one.textContent)).toEqual([
    '3 min ago',
    '15 min ago',
    '50 min ago',
  ]);
  await fireEvent.click(rows[1] as HTMLElement);
  await screen.findAllByTestId('timeline-row');
  expect(app.route.place.request).toBe('req-2');
});

test('a folder without flows offers a first one, and asks before it writes', async () => {
  const host = new FakeHost(0, 0);
  host.flows = async () => [];
  let written = 0;
  host.writeFirstFlow = async () => `hello.ts ${++written}`;
  await open('', host);
  await fireEvent.click(await screen.findByTestId('first-flow'));
  expect(written).toBe(0);
  await fireEvent.click(screen.getByTestId('first-flow-yes'));
  await waitFor(() => expect(written).toBe(1));
});

test('a recent folder is offered, and opens', async () => {
  localStorage.setItem('flowglass.recent.folder', JSON.stringify(['/home/ada/flows', '/home/ada/other']));
  await open();
  const rows = await screen.findAllByTestId('recent-folder');
  expect(rows.map((row) => row.title)).toEqual(['/home/ada/other']);
  await fireEvent.click(rows[0] as HTMLElement);
  await waitFor(() => expect(app.workspace.info.answer?.dir).toBe('/home/ada/other'));
});

test('what waits stands at the top and on a page of its own, with its form', async () => {
  const host = new FakeHost(0, 0);
  const row = { id: 's', requestId: 'req-1', sessionId: 'ses-1', path: 'root/step:approve', reason: 'approval' };
  let answered: unknown = null;
  host.suspensions = async () =>
    answered ? [] : [{ ...row, message: 'Publish it?', allow: ['approve'], createdAt: Date.now() } as SuspensionRow];
  host.resume = async (...given: unknown[]) => ((answered = given), { openEffects: [] }) as never;
  await open('', host);
  expect((await screen.findByTestId('waits')).textContent).toContain('approve');
  app.route.to({ at: 'waiting' });
  await fireEvent.click(await screen.findByTestId('answer-approve'));
  await screen.findByText('Nothing waits for an answer');
  expect(answered).toEqual(['req-1', { models: 'inherit', suspension: 's', reply: 'approve' }]);
  await waitFor(() => expect(screen.queryByTestId('waiting-list')).toBeNull());
});

test('the state is searched, and a place of it is watched', async () => {
  await open('session=ses-2&request=req-2&tab=state');
  const page = await screen.findByTestId('state-page');
  await waitFor(() => expect(within(page).getByTestId('scope-session').textContent).toContain('words'));
  await fireEvent.input(screen.getByTestId('state-search'), { target: { value: 'lastReport' } });
  await waitFor(() => expect(within(page).queryByTestId('scope-session')).toBeNull());
  expect(within(page).getByTestId('scope-project')).toBeTruthy();
  await fireEvent.input(screen.getByTestId('state-search'), { target: { value: '' } });
  const session = await within(page).findByTestId('scope-session');
  const words = within(session)
    .getAllByTestId('state-value')
    .find((one) => one.dataset.path === 'words') as HTMLElement;
  await fireEvent.click(within(words).getByTestId('watch'));
  const watched = await within(page).findByTestId('watched');
  expect(watched.textContent).toContain('session.words');
  // The session gets its defaults a little later, when the request has begun.
  app.seek(2);
  await waitFor(() => expect(within(page).getByTestId('watched').textContent).toContain('no value'));
});

test('who wrote a place is listed beside the state, and goes to its instant', async () => {
  await open('session=ses-2&request=req-2&tab=state');
  const page = await screen.findByTestId('state-page');
  const value = () =>
    within(page)
      .queryAllByTestId('state-value')
      .find((one) => one.dataset.path === 'words');
  await waitFor(() => expect(value()).toBeTruthy());
  await fireEvent.click(within(value() as HTMLElement).getByTestId('who'));
  const [write] = await screen.findAllByTestId('path-write', {}, { timeout: 3000 });
  await fireEvent.click(write as HTMLElement);
  await waitFor(() => expect(app.route.place.block).not.toBeNull());
});

test('a place that is written later than the instant shown was written by an earlier request, with its day', async () => {
  const host = new FakeHost(0, 0);
  const at = new Date();
  const yesterday = new Date(at.getFullYear(), at.getMonth(), at.getDate() - 1, 16, 23, 49).getTime();
  const write = { seq: 6, committed: 7, by: 'root/step:load', operation: 'increment', old: 2, new: 3, at: Date.now() };
  host.history = async () => [write];
  const earlier = { ...write, seq: 19, committed: 19, old: 1, new: 2, at: yesterday };
  const asked: unknown[] = [];
  host.writtenBefore = (async (...query: unknown[]) => {
    asked.push(query);
    return { requestId: 'req-1', sessionId: 'ses-1', flow: 'chat', action: 'send', write: earlier };
  }) as typeof host.writtenBefore;
  await open('session=ses-2&request=req-2&tab=state&seq=3', host);
  await screen.findByTestId('state-page');
  await waitFor(() => expect(app.instant).toBe(3));
  app.window.historyOf = 'session.count';
  const found = await screen.findByTestId('earlier-write');
  for (const words of ['chat.send', 'req-1', '#19', 'Yesterday 16:23:49']) expect(found.textContent).toContain(words);
  expect(asked).toEqual([['req-2', 'session.count', 3]]);
  expect(screen.getByTestId('path-history').textContent).toContain('did not write to it before #3');
  expect(screen.getByTestId('writes-after').textContent).toBe('After #3');
  app.seek(7);
  await waitFor(() => expect(screen.queryByTestId('writes-after')).toBeNull());
  expect(screen.getAllByTestId('path-write')).toHaveLength(1);
  expect(screen.queryByTestId('earlier-write')).toBeNull();
});

test('beside the timeline the last writer is told where it was asked, and its value holds where one is led', async () => {
  await open('session=ses-2&request=req-2');
  const value = () =>
    within(screen.getByTestId('state'))
      .queryAllByTestId('state-value')
      .find((one) => one.dataset.path === 'words');
  await waitFor(() => expect(value()).toBeTruthy());
  const [last] = (await app.host.history('req-2', 'session.words')).slice(-1);
  expect(last).toBeDefined();
  await fireEvent.click(within(value() as HTMLElement).getByTestId('who'));
  const writer = await screen.findByTestId('go-writer');
  expect(app.route.place.tab).toBe('timeline');
  expect(writer.title).toBe(last?.by);
  await fireEvent.click(writer);
  await waitFor(() => expect(app.selected).toContain(last?.by ?? 'nobody'));
  await waitFor(() => expect(app.stateAt.answer?.seq).toBe(app.instant));
  expect(app.instant).toBeGreaterThanOrEqual(last?.committed ?? Infinity);
});

test('the state is compared with the instant that was chosen', async () => {
  await open('session=ses-2&request=req-2&tab=state');
  await screen.findByTestId('state-page');
  await waitFor(() => expect(app.stateAt.answer).not.toBeNull());
  const before = app.stateAt.answer?.from;
  await fireEvent.change(screen.getByTestId('state-base'), { target: { value: 'here' } });
  await waitFor(() => expect(app.stateAt.answer?.from).toBe(app.request.seq));
  expect(app.stateAt.answer?.changes).toEqual([]);
  await fireEvent.change(screen.getByTestId('state-base'), { target: { value: 'step' } });
  await waitFor(() => expect(app.stateAt.answer?.from).toBe(before));
});

test('what another request wrote is not shown as a change of this one', async () => {
  const host = new FakeHost(0, 0);
  const diff = host.diff.bind(host);
  const other = { scope: 'project', path: 'lastReport', kind: 'changed', old: 'a', new: 'b', seq: null } as Change;
  host.diff = async (...given) => [...(await diff(...given)).filter(({ scope }) => scope === 'session'), other];
  await open('session=ses-2&request=req-2&tab=state', host);
  const page = await screen.findByTestId('state-page');
  const project = await within(page).findByTestId('scope-project');
  expect(project.textContent).toContain('1 by other requests');
  expect(within(project).getByTestId('by-another').textContent).toBe('by another request');
  // The scope that this request changed comes first and is open; the others are a line each.
  const session = within(page).getByTestId('scope-session') as HTMLDetailsElement;
  expect(session.compareDocumentPosition(project)).toBe(Node.DOCUMENT_POSITION_FOLLOWING);
  expect([session.open, (project as HTMLDetailsElement).open]).toEqual([true, false]);
  expect(screen.getByTestId('state').textContent).toMatch(/\+\d+.* 1 by other requests/);
});

test('a narrow window puts the left pane away, until it is asked for', async () => {
  await open('session=ses-2&request=req-2');
  await screen.findAllByTestId('timeline-row');
  const resize = async (width: number) => {
    window.innerWidth = width;
    await fireEvent(window, new Event('resize'));
  };
  await resize(960);
  await fireEvent.click(within(await screen.findByTestId('rail')).getByLabelText('Show flows and sessions'));
  await screen.findByTestId('flow-chat');
  expect(localStorage.getItem('flowglass.pane.left')).toBeNull();
  await fireEvent.click(screen.getByLabelText('Hide this pane'));
  await screen.findByTestId('rail');
  await resize(1440);
  await screen.findByTestId('flow-chat');
});

test('a window for one pane gives its room to the request, until the inspector is asked for', async () => {
  await open('session=ses-2&request=req-2');
  await screen.findAllByTestId('timeline-row');
  app.window.width = 640;
  await waitFor(() => expect(screen.queryByTestId('inspector')).toBeNull());
  app.window.turnPane('right');
  await screen.findByTestId('inspector');
  expect(localStorage.getItem('flowglass.pane.right')).toBeNull();
  app.window.turnPane('right');
  app.window.width = 1440;
  await screen.findByTestId('inspector');
});

test('the menu key opens the menu of the chosen row, wherever the browser asks for it', async () => {
  await open('session=ses-2&request=req-2');
  const rows = await screen.findAllByTestId('timeline-row');
  await fireEvent.click(rows[1] as HTMLElement);
  const grid = screen.getByTestId('timeline');
  grid.focus();
  await fireEvent.keyDown(grid, { key: 'F10', shiftKey: true });
  await fireEvent.contextMenu(screen.getByTestId('request-footer'), { button: 2 });
  expect(await screen.findByTestId('context-fork')).toBeTruthy();
  expect(screen.queryByTestId('page-link')).toBeNull();
  expect(app.selected).toBe((rows[1] as HTMLElement).dataset.instance);
});

test('panes are put away by their keys, and stay away', async () => {
  await open('session=ses-2&request=req-2');
  await screen.findAllByTestId('timeline-row');
  await fireEvent.keyDown(window, { key: 'b', ctrlKey: true });
  await waitFor(() => expect(screen.queryByLabelText('Sessions')).toBeNull());
  await fireEvent.keyDown(window, { key: 'j', ctrlKey: true });
  await waitFor(() => expect(screen.queryByTestId('inspector')).toBeNull());
  expect([localStorage.getItem('flowglass.pane.left'), localStorage.getItem('flowglass.pane.right')]).toEqual([
    'false',
    'false',
  ]);
});

test("a flow's page draws its blocks with how they stand in the newest run", async () => {
  await open('flow=chat');
  const block = () => screen.getAllByTestId('graph-block').find((one) => one.dataset.name === 'remember');
  await waitFor(() => expect(block()?.dataset.status).toBe('completed'));
  await fireEvent.click(within(block() as HTMLElement).getByRole('button'));
  await waitFor(() => expect(app.route.place.block).toContain('step:remember'));
});

test("a flow's page says that the filter of the runs is not valid, and shows no figures of other runs", async () => {
  const host = new FakeHost(0, 0);
  const sums = { runs: 3, isCut: false, blocks: [{ place: 'root', name: 'x', count: 7, failed: 0, totalMs: 1 }] };
  host.blockSums = async (_flow, _action, filter) => {
    if (filter === '') return sums;
    throw { kind: 'invalid', message: 'column 1: "colour" is not a field', details: [] } satisfies Fault;
  };
  await open('flow=chat', host);
  app.runs.place = { ...app.runs.place, runs: 'colour:red' };
  const shape = within(await screen.findByTestId('shape-send'));
  await fireEvent.click(await shape.findByText('All runs'));
  await waitFor(() => expect(shape.getByTestId('graph-runs').textContent).toBe('3 runs'));
  await fireEvent.click(shape.getByText('Filtered runs'));
  const fault = await shape.findByTestId('graph-fault');
  expect(fault.textContent).toContain('"colour" is not a field');
  expect(shape.queryByTestId('graph-runs')).toBeNull();
  const blocks = shape.getAllByTestId('graph-block');
  expect(blocks.every((one) => one.dataset.status === undefined && one.dataset.count === undefined)).toBe(true);
});

test("a flow's code is beside its graphs, and before them if it does not load", async () => {
  await open('flow=chat');
  const page = await screen.findByTestId('flow-page');
  await within(page).findByTestId('source');
  const isBefore = (one: string, other: string) =>
    within(page).getByTestId(one).compareDocumentPosition(within(page).getByTestId(other)) ===
    Node.DOCUMENT_POSITION_FOLLOWING;
  expect([page.dataset.beside, isBefore('shape-send', 'source')]).toEqual(['true', true]);
  app.route.to({ at: 'flow', flow: 'triage' });
  await waitFor(() => expect(screen.getByTestId('flow-page').dataset.beside).toBeUndefined());
});

test('runs that read alike are told apart by their time', async () => {
  const host = new FakeHost(0, 0);
  const [first] = await host.requests({ limit: 1, offset: 0 });
  const at = new Date(2026, 4, 3, 9, 5, 7).getTime();
  host.requests = async () => [0, 1].map((n) => ({ ...first!, id: `req-${n}`, startedAt: at + 1_000 * n }));
  await open('', host);
  await screen.findAllByTestId('last-run');
  expect(screen.getAllByTestId('run-apart').map((one) => one.textContent)).toEqual(['09:05:07', '09:05:08']);
});

test('a request that is gone leads on, and there is nothing to inspect', async () => {
  const host = new FakeHost(0, 0);
  host.openView = async () => {
    throw { kind: 'notFound', message: 'unknown request "req-9"' };
  };
  await open('request=req-9', host);
  await fireEvent.click(await screen.findByTestId('gone-runs'));
  expect(app.route.current.at).toBe('runs');
});

test('a session that is gone is reported once', async () => {
  const host = new FakeHost(0, 0);
  const { requests } = host;
  host.requests = (query) =>
    query.session
      ? Promise.reject({ kind: 'notFound', message: 'unknown session "ses-9"' })
      : requests.call(host, query);
  await open('session=ses-9', host);
  await screen.findByText('unknown session "ses-9"');
  expect(screen.getAllByText('unknown session "ses-9"')).toHaveLength(1);
  expect(app.faults.notes).toEqual([]);
});

test('a request of a conversation says what it was asked, unless a message does', async () => {
  await open('session=ses-2&conversation=');
  await screen.findAllByTestId('turn');
  expect(screen.getAllByTestId('turn-words').map((one) => one.textContent)).toEqual(['wild bees', 'fail']);
});

test('a load error is pinned at its line', async () => {
  await open('flow=triage');
  const source = await screen.findByTestId('source');
  expect(within(source).getByTestId('pin').textContent).toContain('Expected `,` or `}`');
  expect(source.textContent).not.toContain('1import');
});

test('sessions are narrowed and ordered', async () => {
  await open('', new FakeHost(0, 20));
  await screen.findByTestId('session-ses-2');
  await fireEvent.click(screen.getByTestId('session-filter'));
  await fireEvent.change(await screen.findByTestId('session-flow'), { target: { value: 'chat' } });
  await waitFor(() => expect(screen.queryByTestId('session-ses-2')).toBeNull());
  expect(await screen.findByTestId('session-ses-1')).toBeTruthy();
  expect(app.workspace.sessions.narrowed).toBe(1);
});

test('a hit of a search opens its request at its event, with its block selected where it is to be seen', async () => {
  const host = new FakeHost(0, 0);
  const [request] = await host.requests({ session: 'ses-2', limit: 1, offset: 1 });
  const events = await host.events('req-2', 1, 10_000);
  const event = events.find((one) => one.kind === 'item_added' && one.path?.startsWith('root/'));
  const where = 'item' as const;
  const hit = { requestId: 'req-2', seq: event?.seq ?? 0, path: event?.path ?? null, where, snippet: 'wild bees' };
  host.search = async () => ({ hits: [hit], requests: request ? [request] : [], samples: 0 });
  await open('', host);
  app.window.sheet = 'search';
  await fireEvent.input(await screen.findByTestId('search-text'), { target: { value: 'bees' } });
  await fireEvent.click(screen.getByTestId('do-search'));
  const group = await screen.findByTestId('hit-group');
  expect(group.textContent).toMatch(/research\.plan.*wild bees.*15 min ago.*req-2/s);
  await fireEvent.click(within(group).getByTestId('hit'));
  await waitFor(() => expect(app.route.place).toMatchObject({ request: 'req-2', seq: hit.seq, tab: 'timeline' }));
  expect(app.route.place.block).toBe(event?.instanceId);
  const tab = await screen.findByTestId('block-tab-items');
  await waitFor(() => expect(tab.getAttribute('aria-selected')).toBe('true'));
});

test('a search says how many samples it left out, and searches them when asked to', async () => {
  const host = new FakeHost(0, 0);
  const search = vi.fn(async ({ samples }: TextQuery) => ({ hits: [], requests: [], samples: samples ? 0 : 6 }));
  host.search = search;
  await open('', host);
  app.window.sheet = 'search';
  await fireEvent.input(await screen.findByTestId('search-text'), { target: { value: 'bees' } });
  await fireEvent.click(screen.getByTestId('do-search'));
  const left = await screen.findByTestId('search-samples');
  expect(left.textContent).toContain('6 samples of experiments were not searched');
  await fireEvent.click(screen.getByRole('checkbox', { name: 'Include samples' }));
  expect(search).toHaveBeenCalledOnce();
  await fireEvent.click(screen.getByTestId('do-search'));
  await waitFor(() => expect(screen.queryByTestId('search-samples')).toBeNull());
  await fireEvent.click(screen.getByRole('checkbox', { name: 'Include samples' }));
  await fireEvent.click(screen.getByTestId('do-search'));
  await screen.findByTestId('search-samples');
  expect(search.mock.calls.map(([query]) => query.samples)).toEqual([false, true, false]);
  // What was left out of an older search says nothing of one that failed.
  search.mockRejectedValueOnce(new Error('gone'));
  await fireEvent.click(screen.getByTestId('do-search'));
  await screen.findByText(/gone/);
  expect(screen.queryByTestId('search-samples')).toBeNull();
});

test('what a request is compared with is chosen among the last runs, those of its flow first', async () => {
  await open('session=ses-2&request=req-3');
  await screen.findAllByTestId('timeline-row');
  app.window.sheet = 'diff';
  await fireEvent.click(await screen.findByText('Another request'));
  const others = await screen.findAllByTestId('other-run');
  expect(others.map((one) => one.title)).toEqual(['req-2', 'req-1']);
  expect(others[0]?.textContent).toMatch(/Completed.*research\.plan.*wild bees.*15 min ago/s);
  expect(screen.getByTestId('diff-request')).toBeTruthy();
  await fireEvent.click(others[0] as HTMLElement);
  expect(app.route.current).toEqual({ at: 'compare', left: 'req-2', right: 'req-3' });
});

test('a copy compares a retry with no request that it does not have', async () => {
  const host = new FakeHost(0, 0);
  await open('session=ses-2&request=req-3', host);
  await screen.findAllByTestId('timeline-row');
  app.request.row = { ...(app.request.row as RequestRow), forkedFrom: null, retryOf: 'req-1' };
  // A link named "Retry" would say that it makes one.
  const origin = await screen.findByTestId('request-origin');
  expect(origin.textContent).toBe('Retried from original');
  app.window.sheet = 'diff';
  expect(await screen.findByTestId('diff-request')).toBeTruthy();
  app.window.sheet = null;
  // A base instant that was chosen counts, unless another request is asked for.
  app.route.go({ base: 2 });
  await waitFor(() => expect(screen.queryByTestId('diff-request')).toBeNull());
  app.window.sheet = 'diff';
  expect(((await screen.findByTestId('diff-from')) as HTMLInputElement).value).toBe('2');
  app.window.sheet = null;
  await waitFor(() => expect(screen.queryByTestId('diff-from')).toBeNull());
  [app.window.comparesRequests, app.window.sheet] = [true, 'diff'];
  expect(await screen.findByTestId('diff-request')).toBeTruthy();
  app.window.sheet = null;
  await waitFor(() => expect(screen.queryByTestId('diff-request')).toBeNull());
  app.route.go({ base: null });
  Object.assign(host, { isCopy: true });
  app.window.sheet = 'diff';
  expect(await screen.findByTestId('diff-from')).toBeTruthy();
  const titles = entriesOf(app, '').map((one) => one.title);
  expect(titles).toContain('Compare two instants');
  expect(titles.filter((title) => title.includes('requests'))).toEqual([]);
  const keys = keyGroups(
    (id) => isOffered(app, id),
    (command) => titleOf(app, command),
  );
  const lines = keys.flatMap((group) => group.keys.map(([, does]) => does));
  expect(lines).toContain('Show the checkpoints');
  for (const absent of ['Show the agent', 'Show the Calls', 'Compare two instants, or two requests'])
    expect(lines).not.toContain(absent);
});

const question = (fields: object) =>
  ({
    id: 's1',
    requestId: 'req-1',
    sessionId: 'ses-1',
    path: 'root/step:pay',
    seq: 9,
    reason: 'approval',
    message: 'The call of "pay" waits for your approval',
    data: { toolCalls: [{ toolName: 'pay', args: { amount: 45 } }] },
    allow: ['approve', 'reject'],
    status: 'pending',
    createdAt: Date.now(),
    ...fields,
  }) as SuspensionRow;

test('a question is answered where it is read: on home and on the page of its request', async () => {
  const host = new FakeHost(0, 0);
  const given: unknown[] = [];
  host.suspensions = async () => (given.length > 0 ? [] : [question({})]);
  host.resume = async (...answer: unknown[]) => (given.push(answer), { openEffects: [] }) as never;
  await open('', host);
  const card = await screen.findByTestId('question-card', {}, { timeout: 10_000 });
  expect(within(card).getByTestId('question-title').textContent).toBe('Approve pay({ amount: 45 })?');
  expect(within(card).getByTestId('question-edit')).toBeTruthy();
  app.route.toRequest('req-1', 'ses-1');
  await screen.findAllByTestId('timeline-row');
  const here = await screen.findByTestId('question-card');
  await fireEvent.click(within(here).getByTestId('question-approve'));
  await waitFor(() => expect(given).toEqual([['req-1', { models: 'inherit', suspension: 's1', reply: 'approve' }]]));
  await waitFor(() => expect(screen.queryByTestId('question-card')).toBeNull());
});

test('a question is answered in its turn of the conversation, which stays on screen', async () => {
  const host = new FakeHost(0, 0);
  const given: unknown[] = [];
  host.suspensions = async () => (given.length > 0 ? [] : [question({})]);
  host.resume = async (...answer: unknown[]) => (given.push(answer), { openEffects: [] }) as never;
  await open('session=ses-1&conversation=', host);
  const turns = await screen.findAllByTestId('turn', {}, { timeout: 10_000 });
  const turn = turns.find((one) => one.dataset.turn === 'req-1') as HTMLElement;
  const card = await within(turn).findByTestId('question-card');
  expect(within(card).getByTestId('question-title').textContent).toBe('Approve pay({ amount: 45 })?');
  expect(within(card).getByTestId('question-edit')).toBeTruthy();
  expect(within(card).queryByTestId('open-question')).toBeNull();
  await fireEvent.click(within(card).getByTestId('question-reject'));
  await waitFor(() => expect(given).toEqual([['req-1', { models: 'inherit', suspension: 's1', reply: 'reject' }]]));
  await waitFor(() => expect(screen.queryByTestId('question-card')).toBeNull());
  expect(app.route.current.at).toBe('conversation');
});

test('a run that was cut off is resumed with one click, and can be dismissed', async () => {
  const host = new FakeHost(0, 0);
  const requests = host.requests.bind(host);
  const [cut] = await requests({ limit: 1, offset: 0 });
  const changedAt = Date.now() - 40_000;
  host.requests = async (query) =>
    query.status === 'interrupted' && cut ? [{ ...cut, status: 'interrupted', changedAt }] : requests(query);
  const resumed: unknown[] = [];
  host.resume = async (...given: unknown[]) => (resumed.push(given), { openEffects: [] }) as never;
  await open('', host);
  const section = await screen.findByTestId('home-interrupted', {}, { timeout: 10_000 });
  expect(section.textContent).toMatch(/1 run was interrupted, last step\s+4\d s ago/);
  await fireEvent.click(within(section).getByTestId('resume-now'));
  await waitFor(() => expect(resumed).toEqual([[cut?.id, { models: 'inherit' }]]));
  await waitFor(() => expect(app.route.place.request).toBe(cut?.id));
  app.route.to({ at: 'home' });
  await fireEvent.click(await screen.findByLabelText('Dismiss'));
  await waitFor(() => expect(screen.queryByTestId('home-interrupted')).toBeNull());
});

test('a trace that broke off is no run that could be resumed', async () => {
  const host = new FakeHost(0, 0);
  const requests = host.requests.bind(host);
  const [cut] = await requests({ limit: 1, offset: 0 });
  const trace = { ...cut!, status: 'interrupted' as const, receivedFrom: 'agent.py' };
  host.requests = async () => [trace];
  await open('', host);
  await waitFor(() => expect(screen.getAllByTestId('last-run')).toHaveLength(1));
  await waitFor(() => expect(app.workspace.interrupted.answer).toEqual([]));
  expect(screen.queryByTestId('home-interrupted')).toBeNull();
  expect(screen.queryByTestId('last-run-resume')).toBeNull();
});

test('an interrupted request has one primary button that resumes it', async () => {
  const host = new FakeHost(0, 0);
  const requests = host.requests.bind(host);
  const cut = (await requests({ limit: 10, offset: 0 })).find((one) => one.id === 'req-3');
  host.requests = async (query) =>
    query.status === 'interrupted' && cut ? [{ ...cut, status: 'interrupted' }] : requests(query);
  await open('session=ses-2&request=req-3', host);
  await screen.findAllByTestId('timeline-row');
  app.request.row = { ...(app.request.row as RequestRow), status: 'interrupted' };
  const card = await screen.findByTestId('interrupted-card');
  expect(within(card).getByTestId('resume-now').dataset.primary).toBe('enter');
  await waitFor(() => expect(screen.getByTestId('resume').dataset.primary).toBeUndefined());
});

test('the window opens where it was', async () => {
  const host = await open('session=ses-2&request=req-2&tab=state');
  await screen.findByTestId('state-page');
  await waitFor(() => expect(app.workspace.info.answer).not.toBeNull());
  app.route.go({ tab: 'events' });
  cleanup();
  app.stop();
  host.related = async () => [];
  await open('', host);
  await waitFor(() => expect(app.route.place).toMatchObject({ request: 'req-2', tab: 'events' }));
  // A request that was deleted meanwhile is no place to open at.
  cleanup();
  app.stop();
  host.related = () => Promise.reject({ kind: 'notFound', message: 'unknown request' });
  await open('', host);
  await screen.findByTestId('home');
  expect(app.route.current.at).toBe('home');
});

test('sessions are found by what their rows show, and nothing found leads to the search of all text', async () => {
  await open();
  await screen.findByTestId('session-ses-2');
  const search = screen.getByTestId('session-search');
  await fireEvent.input(search, { target: { value: 'expected boolean' } });
  await waitFor(() => expect(screen.queryByTestId('session-ses-1')).toBeNull());
  expect(screen.getByTestId('session-ses-2')).toBeTruthy();
  await fireEvent.input(search, { target: { value: 'nowhere' } });
  await fireEvent.click(await screen.findByTestId('search-all', {}, { timeout: 3000 }));
  expect(((await screen.findByTestId('search-text')) as HTMLInputElement).value).toBe('nowhere');
});

test('a replay that stopped says where, and is no failure', async () => {
  const host = new FakeHost(0, 0);
  const openReplay = host.openReplay.bind(host);
  host.openReplay = async (request: string) => {
    const head = await openReplay(request);
    const divergence = {
      seq: 22,
      path: 'root/step:investigator',
      recorded: { model: { 'messages[0].content': 'a' } },
      found: { model: { 'messages[0].content': 'b' } },
    };
    return { ...head, rows: 2, uncompared: 9, replay: { identical: false, compared: 7, divergence } };
  };
  const rows = host.comparisonRows.bind(host);
  host.comparisonRows = async (comparison, query) => {
    const [row] = await rows(comparison, { ...query, all: true });
    if (!row) throw new Error('no row was recorded');
    return [
      { ...row, row: 0, equal: 0, path: 'root/step:investigator', name: 'investigator', differs: ['status'] },
      { ...row, row: 1, equal: 9, path: 'root/step:report', differs: [], uncompared: true },
    ];
  };
  await open('compare=req-3&replay=1', host);
  const said = await screen.findByTestId('compare-divergence');
  expect(said.textContent).toContain('Stopped at investigator: the prompt differs.');
  expect(said.textContent).toContain('9 blocks not compared');
  // The table says the same: only the block at which it stopped differs.
  expect((await screen.findByTestId('compare-what')).textContent).toBe('the prompt differs');
  expect(screen.getByTestId('compare-uncompared').textContent).toContain('9 blocks not compared');
  expect(screen.getByTestId('compare').textContent).not.toContain('only in A');
  expect(screen.getByTestId('compare-right').textContent).toContain('stopped');
  expect(screen.getByTestId('compare-right').textContent).not.toContain('Failed');
});
