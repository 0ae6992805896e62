// What a request of a million events costs the window, and one that grows by 5,000 a second: budgets, over a host that
// only counts. What the engine takes of it is measured in `runner`; what a real window takes, by `make bench`.
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/svelte';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import App from './App.svelte';
import { LOAD, LoadHost } from './host/load';
import { AppModel } from './model/app.svelte';
import { OpenRequest } from './model/request.svelte';
import { Router } from './model/route.svelte';

const MILLION = 1_000_000;
/** What may be sent to open a request. */
const OPENING_BYTES = 2_000_000;
/** Rows that one question asks for, and elements that stand for rows. */
const [ROWS_ASKED, ROWS_SHOWN] = [512, 80];
/** Batches a second, of which a slow window gets fewer. */
const BATCHES_A_SECOND = 60;

/** What a host answers, in bytes of JSON. */
function measured(host: LoadHost): { bytes: number } {
  const sent = { bytes: 0 };
  for (const name of ['openView', 'viewRows', 'viewOverview', 'viewItems', 'eventParts', 'stateAt', 'diff'] as const) {
    const real = host[name].bind(host) as (...args: unknown[]) => Promise<unknown>;
    host[name] = (async (...args: unknown[]) => {
      const answer = await real(...args);
      sent.bytes += JSON.stringify(answer).length;
      return answer;
    }) as never;
  }
  return sent;
}

beforeEach(() => localStorage.clear());
afterEach(cleanup);

test('a million events open with few bytes and few rows, and the last row is reached', async () => {
  const host = new LoadHost(MILLION);
  const sent = measured(host);
  const asked = vi.spyOn(host, 'viewRows');
  history.replaceState(null, '', `#session=ses-load&request=${LOAD}`);
  const app = new AppModel(host, new Router(window));
  render(App, { props: { app } });
  await waitFor(() => expect(screen.getAllByTestId('timeline-row').length).toBeGreaterThan(10));
  await new Promise((done) => setTimeout(done, 300));
  expect(sent.bytes).toBeLessThan(OPENING_BYTES);
  const grid = screen.getByTestId('timeline');
  // The heading is a row, too.
  expect(Number(grid.getAttribute('aria-rowcount'))).toBe(app.request.rows.total + 1);
  expect(app.request.rows.total).toBe(MILLION / 2 + 1);
  await fireEvent.keyDown(grid, { key: 'End' });
  await waitFor(() => expect(app.request.rows.get(app.request.rows.total - 1)).toBeDefined());
  await waitFor(() => expect(app.route.place.block).toBe(app.request.rows.get(MILLION / 2)?.instanceId));
  expect(screen.getAllByTestId('timeline-row').length).toBeLessThan(ROWS_SHOWN);
  expect(Math.max(...asked.mock.calls.map(([, query]) => query.limit))).toBeLessThanOrEqual(ROWS_ASKED);
  expect(sent.bytes).toBeLessThan(2 * OPENING_BYTES);
});

/** Lets a request of so many events grow for a while; what that took on the window's own thread, by batches. */
async function grown(events: number, seconds: number, rate = 5000) {
  const host = new LoadHost(events, events + seconds * rate);
  const request = new OpenRequest(host, () => {});
  const taken: number[] = [];
  const asked = vi.spyOn(host, 'viewRows');
  const real = host.viewUpdates.bind(host);
  let [underWay, most, batches, began] = [0, 0, 0, 0];
  host.viewUpdates = (tell) =>
    real((batch) => {
      batches++;
      most = Math.max(most, ++underWay);
      tell(batch);
    });
  const ack = host.viewAck.bind(host);
  host.viewAck = async (batch) => {
    underWay--;
    if (began > 0) taken.push(performance.now() - began);
    await ack(batch);
  };
  // The frame in which a batch is taken begins its work.
  vi.stubGlobal('requestAnimationFrame', (act: () => void) =>
    setTimeout(() => ((began = performance.now()), act()), 1),
  );
  try {
    await request.connect();
    request.open(LOAD);
    await vi.waitFor(() => expect(request.rows.total).toBeGreaterThan(0));
    request.rows.show(events / 2 - 20, events / 2 + 20);
    await request.rows.settled();
    const before = asked.mock.calls.length;
    await host.flood(rate);
    await vi.waitFor(() => expect(request.seq).toBe(host.length.until));
    const rows = asked.mock.calls.slice(before).reduce((sum, [, query]) => sum + query.limit, 0);
    const median = taken.sort((a, b) => a - b)[taken.length >> 1] ?? 0;
    return { median, most, batches, rows, blocks: request.counts.blocks, status: request.row?.status };
  } finally {
    vi.unstubAllGlobals();
    request.disconnect();
  }
}

test('5,000 events a second drop nothing, and never queue', async () => {
  const { most, batches, rows, blocks, status } = await grown(MILLION, 3);
  expect(most).toBe(1);
  expect([blocks, status]).toEqual([(MILLION + 15_000) / 2, 'completed']);
  expect(batches).toBeGreaterThan(10);
  // The host of this test tells every 8 ms; each batch asks for the rows on screen and no more.
  expect(batches).toBeLessThanOrEqual(3 * 2.2 * BATCHES_A_SECOND);
  expect(rows / batches).toBeLessThanOrEqual(ROWS_ASKED / 2);
});

test('a live update costs the same however long the request is', async () => {
  const [short, long] = [await grown(10_000, 2), await grown(MILLION, 2)];
  // In milliseconds, with room for a machine that does other things beside it.
  expect(long.median).toBeLessThanOrEqual(short.median * 1.2 + 2);
});
