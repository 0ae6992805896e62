// From one page to the next: what is on screen stays, and is what keys act on, until the next page can be shown.
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/svelte';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import App from './App.svelte';
import { FakeHost } from './host/fake';
import { AppModel } from './model/app.svelte';
import { Router } from './model/route.svelte';

let app: AppModel;
let host: FakeHost;
/** Lets the views be opened that wait for it. */
let answer: () => void;

/** Views are opened only after `answer`; the one of `failing` cannot be. */
function hold(failing?: string) {
  const openView = FakeHost.prototype.openView.bind(host);
  const isHeld = new Promise<void>((done) => (answer = done));
  host.openView = async (id) => {
    await isHeld;
    if (id === failing) throw new Error('the disk is gone');
    return openView(id);
  };
}

async function open(hash = 'session=ses-2&request=req-2') {
  history.replaceState(null, '', `#${hash}`);
  host = new FakeHost(0, 5);
  app = new AppModel(host, new Router(window));
  render(App, { props: { app } });
  await screen.findByTestId('session-ses-2');
  if (hash.includes('request=')) await screen.findAllByTestId('timeline-row');
}

const isBusy = () => screen.getByRole('main').getAttribute('aria-busy') === 'true';
/** The request is on screen in every part: nothing of another one is beside it. */
function expectShown(id: string) {
  expect([app.request.row?.id, app.request.id, app.route.place.request]).toEqual([id, id, id]);
  expect(screen.queryByText('Reading the request…')).toBeNull();
}

beforeEach(() => localStorage.clear());
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

test('a request stays on screen until the next one can be read, and is marked as busy when that takes long', async () => {
  await open();
  const address = location.hash;
  hold();
  app.openRequest('ses-1', 'req-1');
  expectShown('req-2');
  expect([isBusy(), location.hash]).toEqual([false, address]);
  await waitFor(() => expect(isBusy()).toBe(true));
  expectShown('req-2');
  answer();
  await waitFor(() => expectShown('req-1'));
  expect([isBusy(), location.hash]).toEqual([false, '#session=ses-1&request=req-1']);
});

test('what is done while the next request is read is done to the one on screen', async () => {
  await open();
  hold();
  const abort = vi.spyOn(host, 'abort').mockResolvedValue(undefined as never);
  app.openRequest('ses-1', 'req-1', { seq: 4 });
  const block = app.request.root ?? '';
  app.select(block, 'push', { seq: 2 });
  expect(app.route.place).toMatchObject({ request: 'req-2', block, seq: 2 });
  const { abort: abortNow } = await import('./model/actions');
  await abortNow(app);
  expect(abort).toHaveBeenCalledWith('req-2');
  answer();
  await waitFor(() => expectShown('req-1'));
  expect(app.route.place, 'nothing of the other request is left').toMatchObject({ block: null, seq: 4 });
});

test('back and forward keep the page as well, and end at their own address', async () => {
  await open();
  app.openRequest('ses-1', 'req-1');
  await waitFor(() => expectShown('req-1'));
  hold();
  history.back();
  await waitFor(() => expect(app.route.next).toMatchObject({ request: 'req-2' }));
  expectShown('req-1');
  // What moves in the page that stays is no business of the address of the next one.
  app.route.go({ seq: 2 }, 'replace');
  app.select(app.request.root ?? '');
  expect(location.hash).toBe('#session=ses-2&request=req-2');
  answer();
  await waitFor(() => expectShown('req-2'));
  expect([location.hash, app.route.place.seq]).toEqual(['#session=ses-2&request=req-2', null]);
});

test('a request that cannot be read takes the place of the page', async () => {
  await open();
  hold('req-1');
  app.openRequest('ses-1', 'req-1');
  answer();
  await screen.findByText(/the disk is gone/);
  expect([app.request.row, app.request.id]).toEqual([null, 'req-1']);
});

test('the list of runs stays until the run can be read; who goes elsewhere meanwhile stays there', async () => {
  await open('runs=');
  await screen.findByTestId('runs-page');
  hold();
  const closed = vi.spyOn(host, 'closeView');
  app.openRequest('ses-1', 'req-1');
  expect(screen.getByTestId('runs-page')).toBeTruthy();
  app.route.to({ at: 'flow', flow: 'chat' });
  answer();
  await waitFor(() => expect(closed).toHaveBeenCalledOnce());
  expect(app.route.current).toEqual({ at: 'flow', flow: 'chat' });
  expect([app.request.id, app.route.next, isBusy()]).toEqual([null, null, false]);
});

test('a session is opened at its newest request without an empty page between', async () => {
  await open();
  hold();
  app.openSession('ses-1');
  await Promise.resolve();
  expectShown('req-2');
  answer();
  await waitFor(() => expect(app.route.place.session).toBe('ses-1'));
  const shown = app.request.id ?? '';
  expectShown(shown);
  history.back();
  await waitFor(() => expectShown('req-2'));
});

test('the same request asked for twice is read once, and going back to the open one ends the wait', async () => {
  await open();
  hold();
  const opened = vi.spyOn(host, 'openView');
  app.openRequest('ses-1', 'req-1');
  app.openRequest('ses-1', 'req-1');
  expect(opened.mock.calls.length).toBeLessThanOrEqual(1);
  app.route.to(app.route.current);
  expect(app.route.next).toBeNull();
  answer();
  await app.route.settled();
  expectShown('req-2');
  await fireEvent.keyDown(document.body, { key: 'Escape' });
});
