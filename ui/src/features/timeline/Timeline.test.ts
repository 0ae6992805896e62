// The timeline in the whole window, over a recorded request of hundreds of blocks.
import { cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/svelte';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import App from '../../App.svelte';
import { FakeHost } from '../../host/fake';
import { AppModel } from '../../model/app.svelte';
import { Router } from '../../model/route.svelte';

let app: AppModel;
const LARGE = 'session=ses-large&request=req-4';

async function open(hash: string) {
  history.replaceState(null, '', `#${hash}`);
  const host = new FakeHost(0, 0, true);
  app = new AppModel(host, new Router(window));
  render(App, { props: { app } });
  await screen.findAllByTestId('timeline-row');
  return host;
}

const rows = () => screen.getAllByTestId('timeline-row');
const names = () => rows().map((row) => row.dataset.path ?? `group ${row.dataset.group}`);
const key = (name: string) => fireEvent.keyDown(screen.getByTestId('timeline'), { key: name });
const chosen = () => rows().find((row) => row.getAttribute('aria-selected') === 'true');
const type = (testid: string, value: string) => fireEvent.input(screen.getByTestId(testid), { target: { value } });

beforeEach(() => localStorage.clear());
afterEach(cleanup);

test('turns are one row, which says how many there are; what is inside is read when it is unfolded', async () => {
  await open(`${LARGE}&block=req-4:root:0`);
  expect(names()).toEqual(['root', 'root/tap:plan', 'group turns', 'root/step:notes', 'root/step:approve']);
  const group = rows()[2] as HTMLElement;
  expect(group.textContent).toContain('×12');
  expect(group.getAttribute('aria-expanded')).toBe('false');
  expect(Number(within(group).getByTestId('hidden-rows').textContent)).toBeGreaterThan(300);
  expect([
    group.getAttribute('aria-level'),
    group.getAttribute('aria-posinset'),
    group.getAttribute('aria-setsize'),
  ]).toEqual(['2', '2', '4']);
  await fireEvent.dblClick(group);
  await waitFor(() => expect(names()).toContain('root/doUntil:one-angle[1]'));
  expect(rows()[2]?.getAttribute('aria-expanded')).toBe('true');
});

test('what a row spent and wrote stands under heads that name the units', async () => {
  await open('session=ses-2&request=req-2');
  const shown = [
    ...within(rows()[0] as HTMLElement)
      .getByTestId('row-sums')
      .querySelectorAll('[aria-hidden]'),
  ];
  expect(shown.map((part) => part.textContent)).toEqual([
    expect.stringMatching(/^[\d.]+k?$/),
    expect.stringMatching(/^\d+$/),
  ]);
});

test('the last of hundreds of rows is reached by a key, and only rows near it exist', async () => {
  await open(LARGE);
  await fireEvent.click(screen.getByRole('button', { name: 'Unfold all' }));
  const grid = screen.getByTestId('timeline');
  await waitFor(() => expect(Number(grid.getAttribute('aria-rowcount'))).toBeGreaterThan(300));
  await key('End');
  await waitFor(() => expect(app.route.place.block).toContain('step:approve'));
  expect(rows().length).toBeLessThan(60);
});

test('of a group it is said how many failed, and the next failure is found in it', async () => {
  await open(LARGE);
  await fireEvent.click(screen.getByRole('button', { name: 'Unfold all' }));
  await waitFor(() => expect(rows().length).toBeGreaterThan(10));
  const grid = screen.getByTestId('timeline');
  await fireEvent.keyDown(grid, { key: '/' });
  await type('find-input', 'status:failed');
  await fireEvent.keyDown(screen.getByTestId('find-input'), { key: 'Enter' });
  await waitFor(() => expect(app.route.place.block).toContain('one-angle[3]/forEachBackground:source[9]'));
  await fireEvent.keyDown(screen.getByTestId('find-input'), { key: 'Enter' });
  await waitFor(() => expect(app.route.place.block).toContain('one-angle[3]/forEachBackground:source[19]'));
  await fireEvent.keyDown(screen.getByTestId('find-input'), { key: 'Enter', shiftKey: true });
  await waitFor(() => expect(app.route.place.block).toContain('source[9]'));
  await fireEvent.keyDown(screen.getByTestId('find-input'), { key: 'Escape' });
  expect(screen.queryByTestId('find')).toBeNull();
  await key('Home');
  app.route.go({ filter: 'status:failed' });
  await waitFor(() =>
    expect(screen.getAllByTestId('group-failed').map((one) => one.textContent)).toContain('2 failed'),
  );
});

test('a filter shows what matches with what is around it, counts, and says what is wrong where', async () => {
  await open(LARGE);
  await type('filter', 'status:fail');
  const fault = await screen.findByTestId('filter-fault');
  expect(fault.textContent).toContain('column 8');
  expect(fault.textContent).toContain('failed');
  expect(screen.getByTestId('filter').getAttribute('aria-invalid')).toBe('true');
  await type('filter', 'status:abandoned name:fetch-page');
  await waitFor(() => expect(screen.getByTestId('filter-matches').textContent).toBe('1'));
  expect(screen.queryByTestId('filter-fault')).toBeNull();
  expect(names().at(-1)).toContain('branch:fetch-page');
  expect(names()[0]).toBe('root');
  await type('filter', 'name:nothing-is-called-so');
  await screen.findByText('No block matches the filter');
  await fireEvent.click(screen.getByRole('button', { name: 'Clear the filter' }));
  await waitFor(() => expect(names()).toContain('root/tap:plan'));
});

test('completion is chosen with the keys', async () => {
  await open('session=ses-2&request=req-2');
  await type('filter', 'kind:g');
  await fireEvent.keyDown(screen.getByTestId('filter'), { key: 'ArrowDown' });
  await fireEvent.keyDown(screen.getByTestId('filter'), { key: 'Enter' });
  await waitFor(() => expect((screen.getByTestId('filter') as HTMLInputElement).value).toBe('kind:generator '));
  await waitFor(() => expect(screen.getByTestId('filter-matches').textContent).toBe('4'));
});

test('at a past instant nothing shows what comes later', async () => {
  await open('session=ses-2&request=req-2&seq=20');
  await waitFor(() => expect(rows()[0]?.dataset.status).toBe('running'));
  const later = rows().filter((row) => row.dataset.status === 'ahead');
  expect(later.map((row) => row.dataset.path)).toContain('root/step:report');
  for (const row of later) expect(row.textContent).not.toMatch(/Completed|Failed|\d+ ms/);
  app.seek(1e9);
  await waitFor(() => expect(rows().some((row) => row.dataset.status === 'ahead')).toBe(false));
});

test('an instant inside a model call is told with its own time, and told alike everywhere', async () => {
  await open('session=ses-1&request=req-1');
  const events = await app.host.events('req-1', 1, 200);
  const inside = events[30] as (typeof events)[number];
  expect(inside.kind).not.toMatch(/^block_/);
  expect(await app.request.seqAt(inside.at)).toBe(inside.seq);
  app.seek(inside.seq);
  const time = `+${inside.at - (events[0]?.at ?? 0)} ms`;
  await waitFor(() => expect(screen.getByTestId('instant').textContent).toBe(`#${inside.seq} · ${time}`));
  expect(screen.getByTestId('time-slider').getAttribute('aria-valuetext')).toContain(time);
  app.route.go({ tab: 'events' });
  const row = await waitFor(() => {
    const found = screen.getAllByTestId('event-row').find((one) => one.dataset.seq === String(inside.seq));
    expect(found?.textContent).toContain(time);
    return found;
  });
  expect(row?.getAttribute('aria-selected')).toBe('true');
});

test('of a newer instant no older time is shown while its own is asked for', async () => {
  const host = await open('session=ses-1&request=req-1&seq=20');
  await waitFor(() => expect(screen.getByTestId('instant').textContent).toContain('#20 · +'));
  let answer: (at: number) => void = () => {};
  vi.spyOn(host, 'viewTimeOf').mockImplementation(() => new Promise((resolve) => (answer = resolve)));
  app.seek(40);
  await waitFor(() => expect(screen.getByTestId('instant').textContent).toBe('#40'));
  answer(app.request.from + 321);
  await waitFor(() => expect(screen.getByTestId('instant').textContent).toBe('#40 · +321 ms'));
});

test('the newest event of a running request is told with its own time', async () => {
  const host = await open('session=ses-1&request=req-1');
  const { requestId } = await host.startRun({ flow: 'chat', action: 'send', userId: 'ada', input: 'hi', mock: true });
  app.findRequest(requestId);
  await waitFor(() => expect(app.request.id === requestId && app.request.seq).toBeGreaterThan(20));
  const events = await host.events(requestId, 1, 200);
  const { seq, from, to } = app.request;
  expect(to).toBe(events[seq - 1]?.at);
  expect(from).toBe(events[0]?.at);
});

test('a fork took what it ran itself, and its time counts from its own start', async () => {
  await open('session=ses-1&request=req-1');
  const { request } = app;
  const last = () => screen.getByTestId('instant').textContent?.split(' · ')[1] ?? '';
  expect(last()).toBe(`+1.${String((request.to - request.from) % 1000).padStart(3, '0')} s`);
  expect(screen.getByTestId('request-facts').textContent).toContain('1.01 s');
  // A second of its original an hour ago, and a moment of its own.
  const { to } = request;
  const row = { ...request.row!, forkedFrom: { requestId: 'req-2', seq: 30 }, durationMs: 250 };
  Object.assign(request, { row, from: to - 3_600_000, pause: { from: to - 3_599_000, to: to - 250 } });
  await waitFor(() => expect(last()).toBe('+250 ms'));
  expect(screen.getByTestId('request-facts').textContent).toContain('250 ms');
});

test('what a fork keeps is told apart from what it spent', async () => {
  await open('session=ses-1&request=req-1');
  const totals = () => screen.getByTestId('totals').textContent;
  const spent = totals();
  expect(spent).not.toContain('kept');
  app.request.kept = { modelCalls: 3, promptTokens: 900, completionTokens: 60, changes: 0, cost: 0.4, unpriced: 0 };
  await waitFor(() => expect(totals()).toBe(`${spent} · kept: 3 model calls, $0.40`));
});

test('the axis is zoomed and moved with keys, and says what is in view', async () => {
  await open('session=ses-2&request=req-2');
  const axis = screen.getByTestId('time-axis');
  const shown = () => axis.getAttribute('aria-valuetext');
  const all = shown();
  await fireEvent.keyDown(axis, { key: '+' });
  const zoomed = shown();
  expect(zoomed).not.toBe(all);
  await fireEvent.keyDown(axis, { key: 'ArrowRight' });
  expect(shown()).not.toBe(zoomed);
  expect(screen.getByTestId('brush')).toBeTruthy();
  await key('0');
  expect(shown()).toBe(all);
  expect(screen.queryByTestId('brush')).toBeNull();
});

test('idle times are cut until somebody wants the real time', async () => {
  const host = await open(LARGE);
  const overview = vi.spyOn(host, 'viewOverview');
  await app.request.overview(100);
  expect(overview).toHaveBeenCalled();
  expect(screen.getByTestId('switch-cut').getAttribute('aria-pressed')).toBe('true');
  await fireEvent.click(screen.getByTestId('switch-cut'));
  expect(screen.getByTestId('switch-cut').getAttribute('aria-pressed')).toBe('false');
  expect(localStorage.getItem('flowglass.timeline.cut')).toBe('false');
});

test('a failed request opens at the block that failed, and leads back to it', async () => {
  await open('session=ses-2&request=req-3');
  await waitFor(() => expect(app.route.place.block).toContain('section[1]/step:check'));
  await waitFor(() => expect(chosen()?.dataset.path).toContain('section[1]/step:check'));
  const end = chosen()?.dataset.instance;
  await waitFor(() => expect(app.instant).toBe(app.request.rows.find(end ?? '')?.seqEnd));
  await key('Home');
  await waitFor(() => expect(chosen()?.dataset.path).toBe('root'));
  await fireEvent.click(screen.getByRole('button', { name: 'Go to block' }));
  await waitFor(() => expect(chosen()?.dataset.path).toContain('section[1]/step:check'));
});

test.each(['seq=20', 'block=req-3:root:0'])('an address with %s keeps what it names', async (named) => {
  await open(`session=ses-2&request=req-3&${named}`);
  const { block } = app.route.place;
  await waitFor(() => expect(app.stateAt.answer).not.toBeNull());
  expect(app.route.place.block).toBe(block);
});

test('a request that asks opens at the block with its question', async () => {
  await open(LARGE);
  await waitFor(() => expect(app.route.place.block).toContain('root/step:approve'));
});

test('the last event is reached by a key', async () => {
  await open(`${LARGE}&tab=timeline`);
  app.route.go({ tab: 'events', seq: 3 });
  const grid = await screen.findByTestId('events');
  await fireEvent.keyDown(grid, { key: 'End' });
  const last = app.request.seq;
  await waitFor(() => expect(screen.getByTestId('event-payload').textContent).toContain(`#${last} request_status`));
});

test('a filter stays with its request while another tab is open, and is in the address', async () => {
  await open('session=ses-2&request=req-3');
  const { total } = app.request.rows;
  await type('filter', 'status:failed name:check');
  await waitFor(() => expect(screen.getByTestId('filter-matches').textContent).toBe('1'));
  app.route.go({ tab: 'events' });
  await waitFor(() => expect(screen.queryByTestId('filter')).toBeNull());
  app.route.go({ tab: 'timeline' });
  const box = (await screen.findByTestId('filter')) as HTMLInputElement;
  expect(box.value).toBe('status:failed name:check');
  expect(app.route.place.filter).toBe('status:failed name:check');
  await fireEvent.click(screen.getByRole('button', { name: 'Clear the filter' }));
  await waitFor(() => expect(app.request.rows.total).toBe(total));
  expect(box.value).toBe('');
});

test('with no term chosen the list is walked from its first or its last one', async () => {
  await open('session=ses-2&request=req-3');
  const box = screen.getByTestId('filter');
  const press = (name: string) => fireEvent.keyDown(box, { key: name });
  const terms = () => within(screen.getByRole('listbox', { name: 'Terms' })).getAllByRole('option');
  const at = () => terms().findIndex((one) => one.getAttribute('aria-selected') === 'true');
  box.focus();
  await press('ArrowUp');
  expect(at()).toBe(terms().length - 1);
  await press('ArrowDown');
  expect(at()).toBe(0);
});
