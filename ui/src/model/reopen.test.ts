// The window opens where it was, and at home if that is gone.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { remember } from '../base/remember';
import { FakeHost } from '../host/fake';
import { AppModel } from './app.svelte';
import { Router } from './route.svelte';

let app: AppModel;
const GONE = { kind: 'notFound', message: 'unknown request "req-2"' };

async function start(kept: string, host = new FakeHost(0, 0), hash = '') {
  const { dataFile } = await host.workspace();
  remember(`place.${dataFile}`, kept);
  history.replaceState(null, '', `#${hash}`);
  app = new AppModel(host, new Router(window));
  await app.start();
}

beforeEach(() => localStorage.clear());
afterEach(() => app.stop());

test('a request is opened again with its block, its tab and its filter', async () => {
  await start('#session=ses-2&request=req-2&block=req-2%3Aroot%3A0&tab=state&filter=kind%3Agenerator');
  await vi.waitFor(() => expect(app.route.place.request).toBe('req-2'));
  const { block, tab, filter } = app.route.place;
  expect([block, tab, filter]).toEqual(['req-2:root:0', 'state', 'kind:generator']);
});

test.each([
  ['a filter of runs', '#runs=status%3Afailed', 'runs'],
  ['two requests side by side', '#compare=req-1&with=req-2', 'compare'],
  ['a flow', '#flow=chat', 'flow'],
  ['the settings', '#settings=', 'settings'],
])('%s is opened again', async (_, kept, at) => {
  await start(kept);
  await vi.waitFor(() => expect(app.route.current.at).toBe(at));
});

test.each([
  ['a request', '#session=ses-2&request=req-2'],
  ['one side of a comparison', '#compare=req-1&with=req-2'],
  ['a whole conversation', '#session=ses-2&conversation='],
  ['an experiment', '#experiments=exp-1'],
])('with %s gone the window opens at home and reports nothing', async (_, kept) => {
  const host = new FakeHost(0, 0);
  let asked = 0;
  const gone = async () => {
    asked++;
    throw GONE;
  };
  const { requests } = host;
  host.related = gone;
  host.experiment = gone;
  host.requests = (query) => (query.session ? gone() : requests.call(host, query));
  await start(kept, host);
  await vi.waitFor(() => expect(asked).toBeGreaterThan(0));
  await new Promise((done) => setTimeout(done, 30));
  expect(app.route.current.at).toBe('home');
  expect(app.faults.notes).toEqual([]);
});

test('an address that the window was opened at comes before the place that was kept', async () => {
  await start('#settings=', new FakeHost(0, 0), 'session=ses-1&request=req-1');
  await new Promise((done) => setTimeout(done, 30));
  expect(app.route.place.request).toBe('req-1');
});
