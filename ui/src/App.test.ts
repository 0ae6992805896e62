// The whole window with the recorded host, operated as a user does.
import { cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/svelte';
import { tick } from 'svelte';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import App from './App.svelte';
import { FakeHost } from './host/fake';
import type { ListedRequest } from './host/host';
import { AppModel } from './model/app.svelte';
import { Router } from './model/route.svelte';

let app: AppModel;

async function open(hash = '', host = new FakeHost(0, 60)) {
  history.replaceState(null, '', `#${hash}`);
  app = new AppModel(host, new Router(window));
  render(App, { props: { app } });
  await screen.findByTestId('flow-chat');
}

const paletteRows = () => within(screen.getByRole('listbox', { name: 'Commands' })).getAllByRole('option');

function rowOf(path: string) {
  const { rows } = app.request;
  const row = rows.get(rows.indexOf((one) => one.path === path));
  if (!row) throw new Error(`no row of ${path}`);
  return row;
}

beforeEach(() => localStorage.clear());
afterEach(cleanup);

test('flows show their actions, and load errors their position', async () => {
  await open();
  expect(screen.getByTestId('action-research-plan')).toBeTruthy();
  expect(screen.getByTestId('load-error').textContent).toContain('flows/triage.ts:12:3');
});

test('an action is run from its form, and its timeline opens', async () => {
  await open();
  await fireEvent.click(screen.getByTestId('action-research-plan'));
  await fireEvent.input(await screen.findByTestId('field-topic'), { target: { value: 'wild bees' } });
  expect((screen.getByTestId('raw-json') as HTMLTextAreaElement).value).toContain('wild bees');
  expect((screen.getByTestId('mock') as HTMLInputElement).checked).toBe(true);
  await fireEvent.click(screen.getByTestId('run-button'));
  const rows = await screen.findAllByTestId('timeline-row');
  expect(rows[0]?.dataset.path).toBe('root');
  expect(rows.some((row) => row.dataset.status === 'abandoned')).toBe(true);
  expect(app.route.place.request).toBe('req-4');
});

/** A host whose chat flow also has entries, which the recorded flows do not have. */
function withEntries(): FakeHost {
  const host = new FakeHost(0, 60);
  const flows = host.flows.bind(host);
  const at = (type: 'schedule' | 'internal', name: string) => ({
    address: `${type}:${name}`,
    type,
    name,
    inputSchema: {},
  });
  const root = { name: 'remember', kind: 'handler' } as const;
  vi.spyOn(host, 'flows').mockImplementation(async () =>
    (await flows()).map((flow) => ({
      ...flow,
      entries: [
        { ...at('schedule', 'nightly-digest'), cron: '0 3 * * *', timezone: 'UTC', enabled: true, root },
        { ...at('internal', 'tidy'), root },
      ],
    })),
  );
  return host;
}

test('an entry says what starts it, and is fired from the same form', async () => {
  const host = withEntries();
  const trigger = vi.spyOn(host, 'trigger');
  await open('', host);
  await fireEvent.click(screen.getByTestId('entry-chat-schedule:nightly-digest'));
  expect((await screen.findByTestId('entry-hint')).textContent).toContain('own input');
  expect(screen.getByTestId('run-form').textContent).toContain('Triggered on a schedule. 0 3 * * * (UTC)');
  expect(screen.getByTestId('run-button').textContent).toContain('Fire');
  await fireEvent.click(screen.getByTestId('run-button'));
  await screen.findAllByTestId('timeline-row');
  const wanted = { flow: 'chat', entry: 'schedule:nightly-digest', userId: null, sessionId: null, projectId: null };
  expect(trigger).toHaveBeenCalledWith({ ...wanted, mock: true });
});

test('an internal entry is run as one', async () => {
  const host = withEntries();
  const startRun = vi.spyOn(host, 'startRun');
  await open('flow=chat&action=internal%3Atidy', host);
  expect((await screen.findByTestId('run-button')).textContent).toContain('Run');
  await fireEvent.click(screen.getByTestId('run-button'));
  await screen.findAllByTestId('timeline-row');
  expect(startRun.mock.calls[0]?.[0]).toMatchObject({ action: 'internal:tidy', internal: true, userId: 'ada' });
});

test('a missing value is reported at its field, and no run starts', async () => {
  await open('flow=research&action=plan');
  await fireEvent.keyDown(await screen.findByTestId('field-topic'), { key: 'Enter', ctrlKey: true });
  expect((await screen.findByTestId('form-error')).textContent).toContain('One field needs attention');
  expect(screen.getByTestId('problem-topic').textContent).toBe('Required.');
  expect(screen.getByTestId('field-topic').getAttribute('aria-invalid')).toBe('true');
});

test('a value that the engine refuses is reported at its field', async () => {
  await open('flow=research&action=plan');
  await fireEvent.input(await screen.findByTestId('field-topic'), { target: { value: 'nothing' } });
  await fireEvent.click(screen.getByTestId('run-button'));
  expect((await screen.findByTestId('problem-topic')).textContent).toContain('nothing to research');
});

test('an action whose input is a bare text has one field', async () => {
  await open('flow=chat&action=send');
  await fireEvent.input(await screen.findByTestId('field-input'), { target: { value: 'hello' } });
  expect((screen.getByTestId('raw-json') as HTMLTextAreaElement).value).toBe('"hello"');
  await fireEvent.click(screen.getByTestId('run-button'));
  await screen.findAllByTestId('timeline-row');
});

test('invalid raw JSON stops the run and stays in the field', async () => {
  await open('flow=research&action=plan');
  const raw = (await screen.findByTestId('raw-json')) as HTMLTextAreaElement;
  await fireEvent.input(raw, { target: { value: '{"topic": ' } });
  await fireEvent.click(screen.getByTestId('run-button'));
  expect(await screen.findByTestId('form-error')).toBeTruthy();
  expect(raw.value).toBe('{"topic": ');
  await fireEvent.input(raw, { target: { value: '{"topic": "ants", "depth": 1, "tone": "plain"}' } });
  expect((screen.getByTestId('field-topic') as HTMLInputElement).value).toBe('ants');
});

test('the slider shows the state at its instant, with the event number', async () => {
  await open('session=ses-2&request=req-2');
  await screen.findAllByTestId('timeline-row');
  await waitFor(() => expect(screen.getByTestId('scope-session').textContent).toContain('81'));
  await fireEvent.input(screen.getByTestId('time-slider'), { target: { value: '5' } });
  await waitFor(() => expect(screen.getByTestId('state-seq').textContent).toContain('#5'));
  expect(screen.getByTestId('scope-session').textContent).not.toContain('81');
  expect(screen.getByTestId('live').getAttribute('aria-pressed')).toBe('false');
  await fireEvent.click(screen.getByTestId('live'));
  await waitFor(() => expect(screen.getByTestId('scope-session').textContent).toContain('81'));
});

test('selecting a block shows the state at its end, and the newest event is one click away', async () => {
  await open('session=ses-2&request=req-2');
  const rows = await screen.findAllByTestId('timeline-row');
  const choose = (path: string) => fireEvent.click(rows.find((row) => row.dataset.path === path) as HTMLElement);
  const shows = (seq: number) =>
    waitFor(() => expect(screen.getByTestId('state-seq').textContent).toContain(`at #${seq},`));
  const live = screen.getByTestId('live');
  await choose('root/step:outline');
  await shows(rowOf('root/step:outline').seqEnd ?? 0);
  expect(screen.getByTestId('instant').textContent).toContain(`#${rowOf('root/step:outline').seqEnd} `);
  expect(live.getAttribute('aria-pressed')).toBe('false');
  // Rows are not shown as of that instant: they keep their final status.
  expect(screen.getAllByTestId('timeline-row').at(-1)?.dataset.status).toBe('completed');
  await fireEvent.click(live);
  await shows(app.request.seq);
  expect(live.getAttribute('aria-pressed')).toBe('true');
  expect(screen.getByTestId('block-path').textContent).toBe('root/step:outline');
  await choose('root/tap:begin');
  await shows(rowOf('root/tap:begin').seqEnd ?? 0);
  // Selecting a block replaces an instant that was chosen before.
  app.seek(5);
  await shows(5);
  await choose('root/step:outline');
  await shows(rowOf('root/step:outline').seqEnd ?? 0);
  // The root ended before the request did.
  await choose('root');
  await shows(rowOf('root').seqEnd ?? 0);
  app.seek(app.request.seq);
  await shows(app.request.seq);
  expect(app.route.place.seq).toBe(app.request.seq);
});

test('Shift, or a key, shows the start of a block, and the conversation at that instant', async () => {
  await open('session=ses-2&request=req-2');
  await screen.findAllByTestId('timeline-row');
  const outline = rowOf('root/step:outline');
  const shows = (seq: number) => waitFor(() => expect(app.stateAt.answer?.seq).toBe(seq));
  const rows = screen.getAllByTestId('timeline-row');
  const row = rows.find((one) => one.dataset.path === 'root/step:outline') as HTMLElement;
  await fireEvent.click(row, { shiftKey: true });
  await shows(outline.seqStart);
  expect(screen.getByTestId('block-path').textContent).toBe('root/step:outline');
  await fireEvent.keyDown(screen.getByTestId('timeline'), { key: '>' });
  await shows(outline.seqEnd ?? 0);
  await fireEvent.keyDown(screen.getByTestId('timeline'), { key: '<' });
  await shows(outline.seqStart);
  await fireEvent.keyDown(screen.getByTestId('timeline'), { key: 'ArrowDown' });
  await waitFor(() => expect(app.route.place.seq).toBeNull());
  await fireEvent.keyDown(screen.getByTestId('timeline'), { key: 'ArrowUp', shiftKey: true });
  await shows(outline.seqStart);
  await fireEvent.click(row);
  app.route.go({ tab: 'items' });
  const at = await screen.findByTestId('items-at');
  await waitFor(() => expect(at.textContent).toContain(`at #${outline.seqEnd}`));
});

test('at a past instant no row of the timeline shows a later outcome', async () => {
  await open('session=ses-2&request=req-2');
  await screen.findAllByTestId('timeline-row');
  const report = () => screen.getAllByTestId('timeline-row').find((row) => row.dataset.path === 'root/step:report');
  expect([report()?.dataset.status, within(report() as HTMLElement).queryByText('Completed')?.tagName]).toEqual([
    'completed',
    'SPAN',
  ]);
  const { seqStart, seqEnd } = rowOf('root/step:report');
  app.seek(seqStart);
  await waitFor(() => expect(report()?.dataset.status).toBe('running'));
  expect(within(report() as HTMLElement).queryByText('Completed')).toBeNull();
  app.seek(seqStart - 1);
  await waitFor(() => expect(report()?.dataset.status).toBe('ahead'));
  expect(within(report() as HTMLElement).getByText('Not begun')).toBeTruthy();
  expect(screen.getAllByTestId('timeline-row')[0]?.dataset.status).toBe('running');
  app.seek(seqEnd ?? 0);
  await waitFor(() => expect(report()?.dataset.status).toBe('completed'));
});

test('a selected block shows its input, output and changes', async () => {
  await open('session=ses-2&request=req-2');
  const rows = await screen.findAllByTestId('timeline-row');
  await fireEvent.click(rows.find((row) => row.dataset.path === 'root/step:report') as HTMLElement);
  const inspector = screen.getByTestId('inspector');
  await fireEvent.click(await within(inspector).findByTestId('block-tab-output'));
  await waitFor(() => expect(within(inspector).getByTestId('block-output').textContent).toContain('About wild bees'));
  await fireEvent.click(within(inspector).getByTestId('block-tab-input'));
  expect((await within(inspector).findByTestId('block-input')).textContent).toContain('Habitat');
  await fireEvent.click(within(inspector).getByTestId('block-tab-changes'));
  expect((await within(inspector).findAllByTestId('change-row')).map((row) => row.dataset.scope)).toEqual([
    'user',
    'project',
  ]);
});

test("a block shows only what was known at the slider's instant", async () => {
  await open('session=ses-2&request=req-2');
  const rows = await screen.findAllByTestId('timeline-row');
  await fireEvent.click(rows.find((row) => row.dataset.path === 'root/step:report') as HTMLElement);
  const inspector = screen.getByTestId('inspector');
  await fireEvent.click(await within(inspector).findByTestId('block-tab-output'));
  await waitFor(() => expect(within(inspector).getByTestId('block-output').textContent).toContain('About wild bees'));
  const { seqStart } = rowOf('root/step:report');
  app.seek(seqStart);
  await waitFor(() =>
    expect(within(inspector).getByTestId('block-output').textContent).toContain(`Was running at #${seqStart}`),
  );
  expect(within(inspector).getByText('Was running')).toBeTruthy();
  expect(within(inspector).queryAllByTestId('change-row')).toEqual([]);
  app.seek(seqStart - 1);
  expect((await within(inspector).findByTestId('block-ahead')).textContent).toContain(`#${seqStart - 1}`);
  expect(within(inspector).queryByTestId('block-input')).toBeNull();
  expect(within(inspector).getByText('Not begun')).toBeTruthy();
});

test('a failed block shows the details and stack of its error', async () => {
  await open('session=ses-2&request=req-3');
  const rows = await screen.findAllByTestId('timeline-row');
  await fireEvent.click(rows.find((row) => row.dataset.path?.endsWith('section[1]/step:check')) as HTMLElement);
  await waitFor(() => expect(screen.getByTestId('block-error').textContent).toMatch(/flows\/research\.ts:\d+:13/));
  const error = screen.getByTestId('block-error');
  expect(within(error).getByTestId('error-details').textContent).toContain('expected');
  expect(within(error).getByTestId('error-stack').textContent).toContain('at execute');
});

test('a block shows its console output', async () => {
  await open('session=ses-1&request=req-1');
  const rows = await screen.findAllByTestId('timeline-row');
  await fireEvent.click(rows.find((row) => row.dataset.path === 'root/step:remember') as HTMLElement);
  await fireEvent.click(await screen.findByTestId('block-tab-log'));
  expect((await screen.findByTestId('block-logs')).textContent).toContain('Kept the question for next time.');
});

test('a form says that its flow does not load', async () => {
  const host = new FakeHost(0, 0);
  host.startRun = () => Promise.reject({ kind: 'notLoaded', message: 'flows/chat.ts:3:1: a name is missing' });
  await open('flow=chat&action=send', host);
  await fireEvent.input(await screen.findByTestId('field-input'), { target: { value: 'hello' } });
  await fireEvent.click(screen.getByTestId('run-button'));
  expect((await screen.findByTestId('form-error')).textContent).toContain('The flow does not load');
});

test('arrow keys select and fold rows of the timeline', async () => {
  await open('session=ses-2&request=req-2');
  const all = (await screen.findAllByTestId('timeline-row')).length;
  const grid = screen.getByTestId('timeline');
  await fireEvent.keyDown(grid, { key: 'ArrowDown' });
  expect(app.route.place.block).toContain('tap:begin');
  await fireEvent.keyDown(grid, { key: 'Home' });
  await fireEvent.keyDown(grid, { key: 'ArrowLeft' });
  expect(screen.getAllByTestId('timeline-row')).toHaveLength(1);
  expect(screen.getByTestId('timeline-row').getAttribute('aria-expanded')).toBe('false');
  await fireEvent.keyDown(grid, { key: 'ArrowRight' });
  expect(screen.getAllByTestId('timeline-row')).toHaveLength(all);
});

test('a conversation shows its messages, and notes of blocks as lines between them', async () => {
  await open('session=ses-1&request=req-1&tab=items');
  await waitFor(() => expect(screen.getAllByTestId('item')).toHaveLength(3));
  expect(screen.getAllByTestId('item').map((item) => item.dataset.type)).toContain('message');
  const notes = screen.getAllByTestId('item-notes');
  expect(notes.map((one) => one.textContent).join()).toContain('state change');
  await fireEvent.click(notes[0] as HTMLElement);
  await waitFor(() => expect(screen.getAllByTestId('item').length).toBeGreaterThan(3));
});

test('each audience sees its items, with counts', async () => {
  await open('session=ses-1&request=req-1&tab=items');
  await fireEvent.click(await screen.findByRole('radio', { name: /All/ }));
  await waitFor(() => expect(screen.getAllByTestId('item')).toHaveLength(13));
  await fireEvent.click(screen.getByRole('radio', { name: /Trace/ }));
  const types = () => [...new Set(screen.getAllByTestId('item').map((item) => item.dataset.type))];
  await waitFor(() => expect(types()).not.toContain('message'));
  expect(types()).toContain('router_decision');
  expect(screen.getByRole('radio', { name: /Client/ }).textContent).toContain('7');
  expect(screen.getByRole('radio', { name: /History/ }).textContent).toContain('3');
});

test("the items are those of the slider's instant, for every audience", async () => {
  await open('session=ses-1&request=req-1&tab=items&audience=all');
  await waitFor(() => expect(screen.getAllByTestId('item')).toHaveLength(13));
  const second = app.items.answer?.page[1]?.item.seq ?? 0;
  app.seek(second);
  await waitFor(() => expect(screen.getAllByTestId('item')).toHaveLength(2));
  await waitFor(() => expect(screen.getByTestId('items-at').textContent).toContain('later'));
  expect(screen.getByTestId('items-at').textContent).toBe(`at #${second}, 11 later`);
  expect(screen.getByRole('radio', { name: /All/ }).textContent).toContain('2');
  app.seek(1);
  await screen.findByText('No items yet at #1');
  await fireEvent.click(screen.getByTestId('live'));
  await waitFor(() => expect(screen.getAllByTestId('item')).toHaveLength(13));
});

test('sessions are searched and paged, and a session opens at its newest request', async () => {
  await open();
  await screen.findByTestId('session-ses-2');
  expect(screen.queryByTestId('session-ses-old-001')).toBeNull();
  await fireEvent.input(screen.getByTestId('session-search'), { target: { value: 'old-001' } });
  await fireEvent.click(await screen.findByTestId('session-ses-old-001', {}, { timeout: 3000 }));
  await screen.findByText('This session has no requests');
  await fireEvent.input(screen.getByTestId('session-search'), { target: { value: 'ses-2' } });
  await fireEvent.click(await screen.findByTestId('session-ses-2', {}, { timeout: 3000 }));
  expect(await screen.findByTestId('request-req-2')).toBeTruthy();
  await waitFor(() => expect(app.route.place.request).toBe('req-3'));
});

test('the title names the open page and the folder, also after another folder was opened', async () => {
  await open('session=ses-2&request=req-2');
  await waitFor(() => expect(document.title).toBe('research.plan · flows · Flowglass'));
  const host = app.host as FakeHost;
  host.chooseWorkspace = async (dir) => Object.assign(await host.workspace(), { dir, name: 'second' });
  await app.openWorkspace('/second');
  await waitFor(() => expect(document.title).toBe('second · Flowglass'));
});

/** The elements that Tab reaches, in order. */
const tabStops = () =>
  [...document.querySelectorAll<HTMLElement>('button, input, select, textarea, summary, [tabindex]')].filter(
    (one) => one.tabIndex >= 0 && !one.matches(':disabled') && !one.closest('[hidden]'),
  );

test('a few presses of Tab reach the timeline, with any number of flows and sessions', async () => {
  await open('session=ses-2&request=req-2');
  await screen.findAllByTestId('timeline-row');
  await waitFor(() => expect(screen.getAllByTestId(/^session-ses/).length).toBeGreaterThan(10));
  await waitFor(() => expect(tabStops().indexOf(screen.getByTestId('timeline'))).toBeLessThan(17));
  const inside = (name: string) => tabStops().filter((one) => screen.getByLabelText(name).contains(one)).length;
  expect([inside('Flows'), inside('Instant shown')]).toEqual([1, 2]);
});

test('the age of a session is updated while nothing else happens', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'], now: Date.now() });
  try {
    app = new AppModel(new FakeHost(0, 0), new Router(window));
    render(App, { props: { app } });
    await vi.waitFor(() => expect(screen.getByTestId('session-ses-2').textContent).toContain('3 min'));
    await vi.advanceTimersByTimeAsync(10 * 60_000);
    await tick();
    expect(screen.getByTestId('session-ses-2').textContent).toContain('13 min');
  } finally {
    vi.useRealTimers();
  }
});

test('"Show more" reaches the first request of a long session', async () => {
  const host = new FakeHost(0, 0);
  const [row] = await host.requests({ session: 'ses-1', limit: 1, offset: 0 });
  const all = Array.from({ length: 450 }, (_, n) => ({
    ...row,
    id: n === 0 ? 'req-1' : `older-${n}`,
  })) as ListedRequest[];
  host.requests = async ({ limit, offset }) => all.slice(offset, offset + limit);
  await open('session=ses-1&request=req-1', host);
  await waitFor(() => expect(app.requests.rows).toHaveLength(200));
  const list = screen.getByRole('list', { name: 'Sessions' });
  for (const known of [200, 400]) {
    list.scrollTop = known * 48;
    await fireEvent.scroll(list);
    await fireEvent.click(await screen.findByTestId('more-requests'));
    await waitFor(() => expect(app.requests.rows).toHaveLength(Math.min(450, known + 200)));
  }
  list.scrollTop = 450 * 48;
  await fireEvent.scroll(list);
  expect(await screen.findByTestId('request-older-449')).toBeTruthy();
  expect(screen.queryByTestId('more-requests')).toBeNull();
});

test('a broken host is reported, and the window stays', async () => {
  const host = new FakeHost(0, 0);
  host.stateAt = () => Promise.reject({ kind: 'internal', message: 'The file is damaged.' });
  await open('session=ses-2&request=req-2', host);
  await screen.findAllByTestId('timeline-row');
  await screen.findByText('The file is damaged.');
  expect(screen.getByTestId('run-again')).toBeTruthy();
});

test('an address with two requests shows them side by side', async () => {
  const host = new FakeHost(0, 0);
  await host.tagRuns(['req-3'], { title: 'The one that failed' });
  await open('compare=req-2&with=req-3', host);
  const page = await screen.findByTestId('compare');
  await waitFor(() => expect(page.textContent).toContain('differ'), { timeout: 5000 });
  expect(screen.getByTestId('compare-left').dataset.request).toBe('req-2');
  expect(screen.getByTestId('compare-right').dataset.request).toBe('req-3');
  expect(screen.getByTestId('compare-left').textContent).toContain('wild bees');
  expect(screen.getByTestId('compare-right').textContent).toContain('The one that failed');
  expect(screen.getByTestId('compare-right').title).toContain('req-3');
  expect(screen.getByTestId('compare-columns').textContent).toContain('differs in');
  const rows = screen.getAllByTestId('compare-row');
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.every((row) => row.dataset.differs !== 'no')).toBe(true);
});

test('running again starts from the same input', async () => {
  await open('session=ses-2&request=req-2');
  await screen.findAllByTestId('timeline-row');
  await fireEvent.click(screen.getByTestId('run-again'));
  expect(((await screen.findByTestId('field-topic')) as HTMLInputElement).value).toBe('wild bees');
  expect((screen.getByTestId('session') as HTMLInputElement).value).toBe('ses-2');
});

test('the palette and the list of keys open with their keys', async () => {
  await open();
  await fireEvent.keyDown(window, { key: 'k', ctrlKey: true });
  await fireEvent.input(await screen.findByTestId('palette-input'), { target: { value: 'chat.send' } });
  await fireEvent.keyDown(screen.getByTestId('palette-input'), { key: 'Enter' });
  await waitFor(() => expect(app.route.place.action).toBe('send'));
  await fireEvent.keyDown(document.body, { key: '?' });
  expect(await screen.findByText('Follow the newest event')).toBeTruthy();
});

test('new sessions do not move the rows of an open palette until the user types', async () => {
  await open('session=ses-2&request=req-2');
  await screen.findAllByTestId('timeline-row');
  await fireEvent.keyDown(window, { key: 'k', ctrlKey: true });
  await screen.findByTestId('palette-input');
  const before = paletteRows().map((one) => one.textContent);
  const { sessions } = app.workspace;
  const [newest] = sessions.answer ?? [];
  if (newest) sessions.answer = [{ ...newest, id: 'ses-new', title: 'Just arrived' }, ...(sessions.answer ?? [])];
  app.request.row = null;
  await tick();
  expect(paletteRows().map((one) => one.textContent)).toEqual(before);
  await fireEvent.input(screen.getByTestId('palette-input'), { target: { value: 'just arr' } });
  expect(paletteRows()[0]?.textContent).toContain('Just arrived');
  // A session is not found by an id that its row does not show.
  await fireEvent.input(screen.getByTestId('palette-input'), { target: { value: 'ses-new' } });
  expect(screen.queryByRole('option', { name: /Just arrived/ })).toBeNull();
});
