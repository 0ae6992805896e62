// The Verify page with a mock host: results, progress, errors and keys.
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/svelte';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import App from './App.svelte';
import { FakeHost } from './host/fake';
import type { VerifiedRun, VerifyProgress } from './host/host';
import { AppModel } from './model/app.svelte';
import { Router } from './model/route.svelte';

let app: AppModel;
let host: FakeHost;

const NONE = { same: 0, differs: 0, asksNew: 0, unaffected: 0, doesNotLoad: 0, notComparable: 0, groups: [] };
const run = (requestId: string, more: Partial<VerifiedRun> = {}): VerifiedRun => ({
  requestId,
  flow: 'research',
  action: 'research',
  verdict: 'differs',
  path: 'root/step:write',
  field: 'output',
  place: 'text',
  seq: 7,
  recorded: { text: `old ${requestId}` },
  found: { text: `new ${requestId}` },
  ...more,
});
const RUNS = [
  run('one', { path: 'root/step:plan' }),
  run('req-2'),
  run('req-3'),
  run('asks', { verdict: 'asks_new', field: 'effect', flow: 'chat' }),
  run('fine', { verdict: 'same', path: null, field: null }),
];

async function open(results: VerifiedRun[] = RUNS, notRun = 0) {
  history.replaceState(null, '', '#verify=');
  host = new FakeHost(0, 5);
  vi.spyOn(host, 'verify').mockResolvedValue({ ...NONE, results, notRun });
  app = new AppModel(host, new Router(window));
  render(App, { props: { app } });
  await screen.findByTestId('verify-page');
}

const text = (id: string) => screen.getByTestId(id).textContent.replaceAll(/\s+/g, ' ').trim();
const texts = (id: string) => screen.getAllByTestId(id).map((one) => one.textContent.replaceAll(/\s+/g, ' ').trim());

beforeEach(() => localStorage.clear());
afterEach(cleanup);

test('counts, groups and the first run are those of the answer', async () => {
  await open();
  await screen.findAllByTestId('verify-group');
  expect([text('verify-count-differs'), text('verify-count-asks_new'), text('verify-count-same')]).toEqual([
    '3',
    '1',
    '1',
  ]);
  expect(texts('verify-group-count')).toEqual(['2', '1', '1']);
  expect(texts('verify-run-row').map((row) => /req-\d/.exec(row)?.[0])).toEqual(['req-2', 'req-3']);
  expect([text('verify-recorded'), text('verify-found')].map((one) => /(old|new) req-2/.exec(one)?.[0])).toEqual([
    'old req-2',
    'new req-2',
  ]);
  expect(text('verify-summary')).toBe('5 runs verified: 3 differ, 4 not as recorded.');
});

test('keys walk the groups, go to the runs of one, and back', async () => {
  await open();
  await screen.findAllByTestId('verify-group');
  const groups = screen.getByRole('listbox', { name: 'First differences' });
  groups.focus();
  await fireEvent.keyDown(groups, { key: 'ArrowDown' });
  expect(screen.getByTestId('verify-detail').dataset.run).toBe('one');
  await fireEvent.keyDown(groups, { key: 'Home' });
  await fireEvent.keyDown(groups, { key: 'Enter' });
  const runs = screen.getByRole('listbox', { name: 'Runs of this group' });
  expect(document.activeElement).toBe(runs);
  await fireEvent.keyDown(runs, { key: 'End' });
  expect(screen.getByTestId('verify-detail').dataset.run).toBe('req-3');
  expect(runs.getAttribute('aria-activedescendant')).toBe('verify-run-1');
  await fireEvent.keyDown(runs, { key: 'ArrowLeft' });
  expect(document.activeElement).toBe(groups);
});

test('narrowed to a flow, only its runs are counted', async () => {
  await open();
  await screen.findAllByTestId('verify-group');
  await fireEvent.change(screen.getByTestId('verify-flow'), { target: { value: 'chat' } });
  await waitFor(() => expect(text('verify-total')).toBe('1'));
  expect([text('verify-count-differs'), text('verify-count-asks_new')]).toEqual(['0', '1']);
  expect((screen.getByTestId('accept-run') as HTMLButtonElement).disabled).toBe(true);
  expect(text('accept-refused')).toContain('was not recorded');
  expect(app.route.current).toEqual({ at: 'verify', only: 'chat' });
});

test('progress is shown while it verifies, and after Cancel the number of runs not verified', async () => {
  await open([]);
  await screen.findByTestId('verify-empty');
  let told: (progress: VerifyProgress) => void = () => {};
  let end: () => void = () => {};
  vi.spyOn(host, 'verify').mockImplementation((_query, onProgress) => {
    told = onProgress;
    return new Promise((resolve) => (end = () => resolve({ ...NONE, results: RUNS.slice(0, 2), notRun: 38 })));
  });
  vi.spyOn(host, 'cancelVerify').mockImplementation(async () => end());
  await fireEvent.click(screen.getByTestId('verify-run'));
  expect((await screen.findByTestId('verify-progress')).textContent).toContain('Finding the runs');
  told({ done: 2, of: 40, bad: 2 });
  await waitFor(() => expect(text('verify-progress')).toBe('2 of 40 runs verified, 2 not as recorded'));
  expect(screen.getByRole('progressbar').getAttribute('aria-valuenow')).toBe('5');
  await fireEvent.click(screen.getByTestId('verify-cancel'));
  expect((await screen.findByTestId('verify-not-run')).textContent).toContain('38 runs were not verified');
  expect(text('verify-count-differs')).toBe('2');
});

test('an error is shown with its text, and earlier results stay', async () => {
  await open();
  await screen.findAllByTestId('verify-group');
  vi.spyOn(host, 'verify').mockRejectedValue({ kind: 'refused', message: 'the folder is gone' });
  await fireEvent.click(screen.getByTestId('verify-run'));
  expect((await screen.findByTestId('verify-fault')).textContent).toContain('the folder is gone');
  expect(texts('verify-group-count')).toEqual(['2', '1', '1']);
});

test('accepting asks for confirmation with the number of runs', async () => {
  await open();
  await screen.findAllByTestId('verify-group');
  await fireEvent.click(screen.getByTestId('accept-group'));
  await screen.findByTestId('accept-sheet');
  expect(host.verify).toHaveBeenCalledTimes(1);
  vi.spyOn(host, 'verify').mockImplementation(async ({ requests, accept }) => {
    const results = (requests ?? []).map((id) => run(id, accept ? { accepted: true } : { verdict: 'same' }));
    return { ...NONE, results };
  });
  await fireEvent.click(screen.getByTestId('do-accept'));
  await waitFor(() => expect(app.window.sheet).toBeNull());
  expect(app.window.said).toBe('Accepted 2 runs');
  expect([text('verify-count-differs'), text('verify-count-same')]).toEqual(['1', '3']);
});

test('only a flow with differences has a badge, which opens its runs', async () => {
  await open();
  await waitFor(() => expect(texts('flow-badge')).toEqual(['1 asks new', '3 differ']));
  await fireEvent.click(screen.getAllByTestId('flow-badge')[1] as HTMLElement);
  expect(app.route.current).toEqual({ at: 'verify', only: 'research' });
});
