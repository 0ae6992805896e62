// The list of runs over a recorded host: order, filter, keys, selection, tags, columns, and what it says when there is
// nothing or something is wrong.
import { cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/svelte';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import App from './App.svelte';
import { inOrder } from './base/json';
import { FakeHost } from './host/fake';
import type { RunRow, RunsSummary } from './host/host';
import { AppModel } from './model/app.svelte';
import { Router } from './model/route.svelte';

let app: AppModel;
let host: FakeHost;

async function open(address = '#runs=', prepare: (host: FakeHost) => void = () => {}) {
  history.replaceState(null, '', address);
  host = new FakeHost(0, 5);
  prepare(host);
  app = new AppModel(host, new Router(window));
  render(App, { props: { app } });
  await screen.findByTestId('runs-page');
}

const rows = () => screen.getAllByTestId('run-row').map((row) => row.getAttribute('data-request'));
const until = (...ids: string[]) => waitFor(() => expect(rows()).toEqual(ids));
const table = () => screen.getByTestId('runs-table');
const key = (name: string, more = {}) => fireEvent.keyDown(table(), { key: name, ...more });
const said = (id: string) => screen.getByTestId(id).textContent.replaceAll(/\s+/g, ' ').trim();

beforeEach(() => localStorage.clear());
afterEach(cleanup);

test('the newest run comes first, and a click on a head orders anew', async () => {
  await open();
  await until('req-3', 'req-2', 'req-1');
  expect(said('runs-count')).toBe('3');
  await fireEvent.click(screen.getByTestId('runs-sort-flow'));
  await until('req-1', 'req-2', 'req-3');
  expect(location.hash).toContain('runs=');
  await fireEvent.click(screen.getByTestId('runs-sort-flow'));
  await waitFor(() => expect(rows()[2]).toBe('req-1'));
  expect(app.route.current).toMatchObject({ at: 'runs', sort: 'flow', descending: true });
});

test('a filter narrows the list, the chart and the count; a wrong one is said at its place', async () => {
  await open('#runs=status%3Afailed');
  await until('req-3');
  expect(said('runs-count')).toBe('1 of 3');
  await waitFor(() => expect(said('runs-totals')).toContain('1 of 1 failed'));
  const line = screen.getByTestId('runs-filter');
  await fireEvent.input(line, { target: { value: 'colour:red' } });
  await fireEvent.keyDown(line, { key: 'Enter' });
  await waitFor(() => expect(said('runs-filter-fault')).toContain('"colour:red" is not a field'));
  expect(rows(), 'what was found before stays').toEqual(['req-3']);
  expect(said('runs-former')).toContain('still shows the runs of the filter before it');
  await fireEvent.input(line, { target: { value: 'flow:none' } });
  await fireEvent.keyDown(line, { key: 'Enter' });
  await screen.findByTestId('runs-none');
  expect(screen.queryByTestId('runs-former')).toBeNull();
  await fireEvent.click(screen.getByText('Clear the filter'));
  await until('req-3', 'req-2', 'req-1');
});

test('a chart that was not read is not said to be read for a filter that is not valid', async () => {
  await open('#runs=', (host) => vi.spyOn(host, 'runsSummary').mockRejectedValue({ kind: 'storage', message: 'gone' }));
  await until('req-3', 'req-2', 'req-1');
  expect(said('runs-page')).toContain('Reading…');
  const line = screen.getByTestId('runs-filter');
  await fireEvent.input(line, { target: { value: 'colour:red' } });
  await fireEvent.keyDown(line, { key: 'Enter' });
  await screen.findByTestId('runs-former');
  expect(said('runs-page')).not.toContain('Reading…');
});

test('keys walk the list, select, extend and open', async () => {
  await open();
  await until('req-3', 'req-2', 'req-1');
  await key('ArrowDown');
  expect(app.runs.cursor).toBe(1);
  await key(' ');
  expect([...app.runs.selected.keys()]).toEqual(['req-2']);
  await key('ArrowDown', { shiftKey: true });
  await waitFor(() => expect([...app.runs.selected.keys()]).toEqual(['req-2', 'req-1']));
  expect(said('runs-selection')).toContain('2 selected');
  await key('a', { ctrlKey: true });
  await waitFor(() => expect(app.runs.selected.size).toBe(3));
  await key('Escape');
  expect(app.runs.selected.size).toBe(0);
  await key('/');
  expect(document.activeElement).toBe(screen.getByTestId('runs-filter'));
  await key('Home');
  await key('Enter');
  await waitFor(() => expect(app.route.current).toMatchObject({ at: 'request', request: 'req-3' }));
});

// A run that arrived moved another run under the cursor, and the next key selected or deleted that one.
test('the cursor stays at its run if a newer one arrives', async () => {
  await open();
  await until('req-3', 'req-2', 'req-1');
  await key('ArrowDown');
  const [first] = await host.runs({ offset: 0, limit: 1, sort: 'started' });
  const before = host.runs.bind(host);
  const newest = { ...(first as RunRow), id: 'req-4' };
  vi.spyOn(host, 'runs').mockImplementation(async (query) => [newest, ...(await before(query))]);
  vi.spyOn(host, 'countRuns').mockResolvedValue(4);
  app.runs.changed();
  await until('req-4', 'req-3', 'req-2', 'req-1');
  expect(app.runs.cursor).toBe(2);
  await key(' ');
  expect([...app.runs.selected.keys()]).toEqual(['req-2']);
});

test('the chart of another filter is not shown as that of this one', async () => {
  await open();
  await waitFor(() => expect(said('runs-totals')).toContain('of 3 failed'));
  let answer: (summary: RunsSummary) => void = () => {};
  const waiting = new Promise<RunsSummary>((resolve) => (answer = resolve));
  vi.spyOn(host, 'runsSummary').mockReturnValue(waiting);
  app.route.to({ at: 'runs', ...app.runs.place, runs: 'status:failed' });
  await until('req-3');
  expect(said('runs-totals')).toBe('Reading…');
  answer({ runs: 1, failed: 1, samples: 0, tokens: 0, days: [] });
});

test('samples of experiments are left out, and one click away', async () => {
  await open('#runs=', (host) => {
    vi.spyOn(host, 'samplesLeftOut').mockImplementation(async (filter) => (filter.includes('is:sample') ? 0 : 1_200));
  });
  await until('req-3', 'req-2', 'req-1');
  await waitFor(() => expect(said('runs-samples')).toBe('and 1,200 samples of experiments'));
  const runs = vi.spyOn(host, 'runs').mockResolvedValue([]);
  vi.spyOn(host, 'countRuns').mockImplementation(async (filter) => (filter === '' ? 3 : 1_200));
  await fireEvent.click(screen.getByTestId('runs-samples'));
  await waitFor(() => expect(app.route.current).toMatchObject({ at: 'runs', runs: 'is:sample' }));
  await waitFor(() => expect(runs).toHaveBeenCalledWith(expect.objectContaining({ filter: 'is:sample' })));
  await waitFor(() => expect(screen.queryByTestId('runs-samples')).toBeNull());
  // Of all runs with their samples: it was more "of 3".
  await waitFor(() => expect(said('runs-count')).toContain('of 1,203'));
});

// The second time it was shown at its root block, whatever had failed.
test('a failed run opens at the block that failed, each time it is opened', async () => {
  await open();
  await until('req-3', 'req-2', 'req-1');
  for (let times = 0; times < 2; times++) {
    await key('Enter');
    await waitFor(() => expect(app.route.place.block).toContain('step:check'));
    app.route.to({ at: 'runs', ...app.runs.place });
    await screen.findByTestId('runs-page');
    await until('req-3', 'req-2', 'req-1');
  }
});

test('a change of runs that were deleted meanwhile says so', async () => {
  await open();
  await until('req-3', 'req-2', 'req-1');
  await key('a', { ctrlKey: true });
  const tagRuns = vi.spyOn(host, 'tagRuns').mockResolvedValue(1);
  await fireEvent.click(await screen.findByTestId('runs-tag'));
  await fireEvent.input(await screen.findByTestId('tag-add'), { target: { value: 'seen' } });
  await fireEvent.click(screen.getByTestId('do-tag'));
  await waitFor(() => expect(app.window.said).toBe('Changed 1 of 3 runs; 2 were deleted meanwhile'));
  tagRuns.mockResolvedValue(0);
  await fireEvent.click(await screen.findByTestId('runs-tag'));
  await fireEvent.input(await screen.findByTestId('tag-add'), { target: { value: 'seen' } });
  await fireEvent.click(screen.getByTestId('do-tag'));
  await screen.findByText('All 3 runs were deleted meanwhile.');
});

test('selected runs are tagged at once, and the list shows it', async () => {
  await open();
  await until('req-3', 'req-2', 'req-1');
  await key(' ');
  await key('ArrowDown', { shiftKey: true });
  await waitFor(() => expect(app.runs.selected.size).toBe(2));
  await fireEvent.click(screen.getByTestId('runs-tag'));
  await fireEvent.input(await screen.findByTestId('tag-add'), { target: { value: 'seen, odd' } });
  expect(said('tag-adds')).toBe('Adds 2 tags: seen · odd');
  await fireEvent.click(screen.getByTestId('do-tag'));
  await waitFor(() => expect(screen.getAllByTestId('run-tag').map((one) => one.textContent)).toHaveLength(4));
  expect((await host.tags('req-2')).tags).toEqual(['odd', 'seen']);
  expect((await host.tags('req-1')).tags).toEqual([]);
});

test('one run gets a title and a note, which are text whatever they say', async () => {
  await open();
  await until('req-3', 'req-2', 'req-1');
  await key(' ');
  await fireEvent.click(screen.getByTestId('runs-tag'));
  const hostile = '<img src=x onerror=alert(1)> \u202etxt';
  await fireEvent.input(await screen.findByTestId('tag-title'), { target: { value: hostile } });
  await fireEvent.input(screen.getByTestId('tag-note'), { target: { value: 'Looked at' } });
  await fireEvent.click(screen.getByTestId('do-tag'));
  await waitFor(() => expect(screen.getAllByTestId('run-subject')[0]?.textContent).toBe(inOrder(hostile)));
  expect(table().querySelector('img')).toBeNull();
  expect(table().textContent).toContain('Note: Looked at');
});

test('an export that stops says what was written, and goes on from there', async () => {
  await open();
  await until('req-3', 'req-2', 'req-1');
  let isThere = true;
  const write = vi.fn(async ({ request }: { request: string }) => {
    if (isThere && request === 'req-1') throw { kind: 'refused', message: '/x exists: or replace it with --force' };
    return { file: '/x', bytes: 1 };
  });
  Object.assign(host, { exportSession: write });
  await key('a', { ctrlKey: true });
  await waitFor(() => expect(app.runs.selected.size).toBe(3));
  await fireEvent.click(screen.getByTestId('runs-export'));
  await fireEvent.click(await screen.findByTestId('do-export-runs'));
  const error = await screen.findByTestId('sheet-error');
  expect(error.textContent).toContain('2 of 3 files were written before');
  expect(error.textContent).toContain('replace it with “Overwrite”');
  expect(error.textContent).not.toContain('Nothing was changed');
  isThere = false;
  write.mockClear();
  await fireEvent.click(screen.getByTestId('do-export-runs'));
  await waitFor(() => expect(app.window.sheet).toBeNull());
  expect(write.mock.calls.map(([{ request }]) => request)).toEqual(['req-1']);
});

test('selected runs are verified, and nothing else', async () => {
  await open();
  await until('req-3', 'req-2', 'req-1');
  const verify = vi.spyOn(host, 'verify');
  await key(' ');
  await fireEvent.click(screen.getByTestId('runs-verify'));
  await screen.findByTestId('verify-page');
  await waitFor(() => expect(verify.mock.calls[0]?.[0]).toEqual({ requests: ['req-3'], all: true }));
  expect(said('verify-only')).toBe('1 selected run');
  await fireEvent.click(screen.getByTestId('verify-not-only'));
  await waitFor(() => expect(verify.mock.calls.at(-1)?.[0]).toEqual({}));
});

test('a column that is hidden stays hidden', async () => {
  await open();
  await until('req-3', 'req-2', 'req-1');
  await fireEvent.click(screen.getByTestId('runs-columns'));
  await fireEvent.click(await screen.findByTestId('runs-column-user'));
  await waitFor(() => expect(screen.queryByTestId('runs-sort-user')).toBeNull());
  cleanup();
  await open();
  await until('req-3', 'req-2', 'req-1');
  expect(screen.queryByTestId('runs-sort-user')).toBeNull();
  expect(screen.getByTestId('runs-sort-flow')).toBeTruthy();
});

test('deleting says which sessions and how many runs go with it', async () => {
  await open();
  await until('req-3', 'req-2', 'req-1');
  const remove = vi.fn().mockResolvedValue({ sessionId: 'ses-2', requests: 2, events: 9 });
  Object.assign(host, { deleteSession: remove });
  await key(' ');
  await fireEvent.click(screen.getByTestId('runs-delete'));
  await waitFor(() => expect(said('delete-runs-about')).toContain('1 run that is not selected is deleted as well'));
  await fireEvent.click(screen.getByTestId('do-delete-runs'));
  await waitFor(() => expect(remove).toHaveBeenCalledWith('ses-2'));
});

test('after a refusal the sheet is about the sessions that are left', async () => {
  await open();
  await until('req-3', 'req-2', 'req-1');
  const asked: string[] = [];
  const deleteSession = async (id: string) => {
    asked.push(id);
    if (id === 'ses-1') throw { kind: 'refused', message: 'ses-1 is running elsewhere' };
    return { sessionId: id, requests: 2, events: 9 };
  };
  Object.assign(host, { deleteSession });
  await key('a', { ctrlKey: true });
  await fireEvent.click(await screen.findByTestId('runs-delete'));
  await waitFor(() => expect(said('delete-runs-about')).toContain('in 2 sessions with 3 runs'));
  expect(said('delete-runs-sheet')).toContain('not deleted while another one that is kept was forked from it');
  await fireEvent.click(screen.getByTestId('do-delete-runs'));
  await waitFor(() => expect(said('delete-runs-sheet')).toContain('ses-1 is running elsewhere'));
  expect(said('delete-runs-about')).toBe('1 session was not deleted and is still there with 1 run.');
  expect(said('do-delete-runs')).toBe('Delete 1 session');
  asked.length = 0;
  await fireEvent.click(screen.getByTestId('do-delete-runs'));
  await waitFor(() => expect(asked).toEqual(['ses-1']));
});

test('a session is deleted after those that were forked from it, whatever the order of the list', async () => {
  await open();
  await until('req-3', 'req-2', 'req-1');
  const deleted: string[] = [];
  const deleteSession = async (id: string) => {
    if (id === 'ses-2' && !deleted.includes('ses-1')) throw { kind: 'refused', message: 'ses-1 was forked from it' };
    deleted.push(id);
    return { sessionId: id, requests: 1, events: 9 };
  };
  Object.assign(host, { deleteSession });
  await key('a', { ctrlKey: true });
  await fireEvent.click(await screen.findByTestId('runs-delete'));
  await waitFor(() => expect(said('delete-runs-about')).toContain('in 2 sessions with 3 runs'));
  await fireEvent.click(screen.getByTestId('do-delete-runs'));
  await waitFor(() => expect(app.window.said).toBe('Deleted 2 sessions'));
  expect(deleted).toEqual(['ses-1', 'ses-2']);
});

test('a selected run that another process deleted is not selected any more', async () => {
  await open();
  await until('req-3', 'req-2', 'req-1');
  await key('a', { ctrlKey: true });
  await waitFor(() => expect(said('runs-selected')).toBe('3 selected'));
  const { runs, runIds, countRuns } = host;
  host.runs = async (query) => (await runs(query)).filter((run) => run.id !== 'req-2');
  host.runIds = async (query) => (await runIds(query)).filter((id) => id !== 'req-2');
  host.countRuns = async (filter) => (await countRuns(filter)) - 1;
  app.runs.changed();
  await until('req-3', 'req-1');
  await waitFor(() => expect(said('runs-selected')).toBe('2 selected'));
});

test('a text that no list shows leads to the search that looks in everything', async () => {
  await open('#runs=%22desk%20lamp%22%20status%3Afailed');
  const button = await screen.findByTestId('runs-search-all');
  expect(button.textContent).toContain('Search all runs for “desk lamp”');
  await fireEvent.click(button);
  await screen.findByTestId('search-hits');
  expect(screen.getByTestId<HTMLInputElement>('search-text').value).toBe('desk lamp');
});

test('a bar of the chart filters by its day', async () => {
  await open();
  const bars = await screen.findAllByTestId('runs-bar');
  const last = bars[bars.length - 1] as HTMLElement;
  expect(last.getAttribute('aria-label')).toMatch(/: \d runs? · 1 failed/);
  await fireEvent.click(last);
  await waitFor(() => expect(said('runs-page')).toContain('All days'));
  expect(app.route.current).toMatchObject({ runs: expect.stringMatching(/^since:\d{4}-\d\d-\d\d until:\d{4}/) });
});

test('it says when there is nothing, and when it cannot be read', async () => {
  await open('#runs=', (host) => {
    vi.spyOn(host, 'runs').mockResolvedValue([]);
    vi.spyOn(host, 'countRuns').mockResolvedValue(0);
  });
  expect(await screen.findByTestId('runs-empty')).toBeTruthy();
  cleanup();
  await open('#runs=', (host) => {
    vi.spyOn(host, 'countRuns').mockRejectedValueOnce({ kind: 'storage', message: 'the disk is gone' });
  });
  const fault = await screen.findByTestId('runs-fault');
  expect(fault.textContent).toContain('the disk is gone');
  await fireEvent.click(within(fault).getByRole('button', { name: /again/i }));
  await until('req-3', 'req-2', 'req-1');
});

test('a person who comes back sees what the filter finds now, and no rows that are gone', async () => {
  await open('#runs=status%3Afailed');
  await until('req-3');
  const count = vi.spyOn(host, 'countRuns').mockResolvedValue(0);
  vi.spyOn(host, 'runs').mockResolvedValue([]);
  app.route.to({ at: 'settings', section: null });
  await screen.findByTestId('settings-page');
  count.mockClear();
  app.route.to({ at: 'runs', ...app.runs.place });
  await screen.findByTestId('runs-none');
  expect(count).toHaveBeenCalledWith('status:failed');
  expect(screen.queryAllByTestId('run-row')).toEqual([]);
});

test('fewer rows than were counted are no rows that wait for ever', async () => {
  await open();
  await until('req-3', 'req-2', 'req-1');
  const [first] = await host.runs({ offset: 0, limit: 1, sort: 'started' });
  vi.spyOn(host, 'runs').mockImplementation(async () => (first ? [first] : []));
  const count = vi.spyOn(host, 'countRuns').mockResolvedValue(1);
  await fireEvent.click(screen.getByTestId('runs-sort-flow'));
  await until(first?.id ?? '');
  await waitFor(() => expect(count).toHaveBeenCalled());
  expect(app.runs.count).toBe(1);
});

test('of a hundred thousand runs only pages in view are read', async () => {
  const COUNT = 100_000;
  let asked: number[] = [];
  await open('#runs=', (host) => {
    const row = (n: number): RunRow => ({
      id: `r-${n}`,
      sessionId: 's',
      flow: 'cart',
      action: 'pay',
      userId: 'ada',
      status: 'completed',
      startedAt: Date.now() - n,
      mock: false,
      lastSeq: 1,
      tags: [],
      tokens: n,
    });
    vi.spyOn(host, 'countRuns').mockResolvedValue(COUNT);
    vi.spyOn(host, 'runs').mockImplementation(async ({ offset, limit }) => {
      asked.push(offset);
      return Array.from({ length: limit }, (_, n) => row(offset + n));
    });
  });
  await waitFor(() => expect(screen.getAllByTestId('run-row').length).toBeGreaterThan(10));
  expect(screen.getAllByTestId('run-row').length).toBeLessThan(60);
  expect(table().getAttribute('aria-rowcount')).toBe('100001');
  asked = [];
  await key('End');
  await waitFor(() => expect(app.runs.rowAt(COUNT - 1)?.id).toBe('r-99999'));
  expect(new Set(asked)).toEqual(new Set([99_900]));
  vi.spyOn(host, 'runIds').mockImplementation(async ({ limit }) => Array.from({ length: limit }, (_, n) => `r-${n}`));
  await fireEvent.click(screen.getByTestId('runs-select-all'));
  await waitFor(() => expect(said('runs-selected')).toBe('The first 10,000 of 100,000 selected'));
  expect(screen.getByTestId<HTMLInputElement>('runs-select-all').indeterminate).toBe(true);
  // A run that goes on changes many times a second: the ids are read again only when something is done with them.
  const [ids, counted] = [vi.mocked(host.runIds), vi.mocked(host.countRuns)];
  ids.mockClear();
  counted.mockClear();
  app.runs.changed();
  await waitFor(() => expect(counted).toHaveBeenCalled());
  await waitFor(() => expect(app.runs.busy).toBe(false));
  expect(ids).not.toHaveBeenCalled();
  await fireEvent.click(screen.getByTestId('runs-tag'));
  await waitFor(() => expect(app.window.sheet).toBe('tag'));
  expect(ids).toHaveBeenCalledOnce();
});
