import { beforeEach, expect, test, vi } from 'vitest';
import { FakeHost } from '../../host/fake';
import { OpenRequest } from '../../model/request.svelte';
import { placeOf } from './axis';
import { TimeRange } from './range.svelte';

beforeEach(() => localStorage.clear());

async function open(id: string, host = new FakeHost(0, 0, true)) {
  const request = new OpenRequest(host, () => {});
  await request.connect();
  request.open(id);
  await vi.waitFor(() => expect(request.rows.total).toBeGreaterThan(0));
  return { request, range: new TimeRange(request) };
}

test('idle times are cut once the overview has told them, and the density leaves them empty', async () => {
  const { request, range } = await open('req-4');
  const whole = range.axis.length;
  range.look(300);
  await vi.waitFor(() => expect(range.density).not.toEqual([]));
  expect(range.hasCuts).toBe(true);
  expect(range.axis.length).toBeLessThan(whole / 2);
  // A stretch has as many cells as it takes of the axis, and none lies in a cut.
  const shown = range.axis.pieces.filter((piece) => !piece.isCut);
  expect(range.density.map(({ from }) => from)).toEqual(shown.map(({ from }) => from));
  const cells = range.density.flatMap((part) => part.cells);
  expect(Math.abs(cells.length - 300)).toBeLessThan(30);
  expect(cells.filter((count) => count > 0).length).toBeGreaterThan(40);
  expect(cells.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(request.counts.blocks * 0.98);
  range.setCut(false);
  expect(range.axis.length).toBe(whole);
});

test('what is in view stays in view when cuts are switched', async () => {
  const { request, range } = await open('req-4');
  range.look(300);
  await vi.waitFor(() => expect(range.hasCuts).toBe(true));
  const [from, to] = [request.to - 3000, request.to - 1000];
  range.showTimes(from, to);
  const before = [range.timeOf(0), range.timeOf(1)];
  range.setCut(false);
  expect(range.timeOf(0)).toBeCloseTo(before[0] ?? 0, 0);
  expect(range.timeOf(1)).toBeCloseTo(before[1] ?? 0, 0);
  range.fit();
  expect(range.zoom).toBeNull();
});

test('zoomed to the newest of a running request, the newest stays in view', async () => {
  const host = new FakeHost(50, 0);
  const { requestId } = await host.startRun({ flow: 'chat', action: 'send', userId: 'ada', input: 'hi', mock: true });
  const { request, range } = await open(requestId, host);
  request.clock.now = request.from;
  const { length } = range.axis;
  range.show({ left: 0, right: length / 2 });
  request.clock.now = request.from + length / 4;
  range.show({ left: 0, right: length / 2 });
  const size = range.window.right - range.window.left;
  request.clock.now = request.from + length * 0.75;
  expect(range.shareOf(request.now)).toBeLessThanOrEqual(1);
  expect(range.shareOf(request.now)).toBeGreaterThan(0.9);
  expect(range.window.right - range.window.left).toBeCloseTo(size);
  range.pan(-1);
  const left = range.window.left;
  request.clock.now += 50;
  expect(range.window.left).toBe(left);
  request.disconnect();
});

test('the axis of a request that waits reaches to the time of day, and the wait is cut', async () => {
  const { request } = await open('req-4');
  const range = new TimeRange(request, () => request.to + 840_000);
  expect(range.axis.to).toBeGreaterThanOrEqual(request.to + 840_000);
  expect(range.axis.pieces.some((piece) => piece.isCut && piece.to - piece.from === 840_000)).toBe(true);
  // What waits is wide enough to be seen behind the cut.
  expect(1 - placeOf(range.axis, request.to) / range.axis.length).toBeGreaterThan(0.05);
});
