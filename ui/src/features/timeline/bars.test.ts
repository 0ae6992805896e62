import { expect, test } from 'vitest';
import type { ViewRow } from '../../host/host';
import { barOf, drawnPart, noteOf, tookOf } from './bars';
import { columnsOf } from './density';

const row = (more: Partial<ViewRow>) =>
  ({ status: 'completed', startedAt: 1000, durationMs: 500, hasChildren: false, kind: 'handler', ...more }) as ViewRow;
const newest = { now: 9000, instant: null };

test('a finished bar ends where it ended, a running one at the clock', () => {
  expect(barOf(row({}), newest)).toMatchObject({ from: 1000, to: 1500, look: 'work', label: '500 ms' });
  expect(barOf(row({ status: 'running', durationMs: null }), newest)).toMatchObject({ to: 9000, look: 'running' });
});

test('at a past instant a bar ends there, and one that had not begun has no outcome and no label', () => {
  const then = { now: 9000, instant: 1200 };
  expect(barOf(row({ status: 'running', durationMs: null }), then)).toMatchObject({ to: 1200, label: '200 ms' });
  expect(barOf(row({ status: null, durationMs: null }), then)).toMatchObject({ look: 'future', label: '' });
  expect(tookOf(row({ status: null }), then)).toBeNull();
});

test('a block that was cut off ends where the log tells no more of it', () => {
  const cut = row({ status: 'abandoned', durationMs: null, cutMs: 900 });
  expect(barOf(cut, newest)).toMatchObject({ to: 1900, look: 'abandoned', label: 'unknown; process died' });
  // The process of a fork's original may have gone on.
  const pause = { from: 1200, to: 9000 };
  expect(barOf({ ...cut, cutMs: 200 }, { ...newest, pause }).label).toBe('200 ms');
});

test('what a fork shares with its original makes nothing longer than it was', () => {
  const pause = { from: 1200, to: 501_200 };
  const both = row({ durationMs: 500_250, hasChildren: true });
  expect(barOf(both, { ...newest, pause }).label).toBe('250 ms');
  expect(tookOf(both, { ...newest, pause })).toBe(250);
});

test('a block that waits says since when, where the request waits still', () => {
  const asks = row({ status: 'suspended', durationMs: 0, path: 'root/pay' });
  const waiting = { now: 1000 + 780_000, questions: [{ path: 'root/pay', createdAt: 1000 }] };
  expect(barOf(asks, { ...newest, waiting }).label).toBe('waiting 13 min');
  expect(barOf(asks, newest).label).toBe('0 ms');
  expect(barOf({ ...asks, hasChildren: true, durationMs: 500 }, { ...newest, waiting }).label).toBe('500 ms');
});

test('what waits reaches to the time of day, with all that is around it', () => {
  const asks = row({ status: 'suspended', durationMs: 0, path: 'root/turn[1]/pay' });
  const waiting = { now: 781_000, questions: [{ path: 'root/turn[1]/pay', createdAt: 1000 }] };
  const outer = { ...asks, path: 'root/turn[1]', hasChildren: true, durationMs: 20 };
  expect(barOf(asks, { ...newest, waiting }).to).toBe(781_000);
  expect(barOf(outer, { ...newest, waiting })).toMatchObject({ to: 781_000, label: '20 ms' });
  expect(barOf({ ...outer, path: 'root/turn' }, { ...newest, waiting }).to).toBe(1020);
  expect(tookOf(outer, { ...newest, waiting })).toBe(20);
});

test('an execution whose question was answered waits no longer, if its block asks again', () => {
  const first = row({ status: 'suspended', durationMs: 5, path: 'root/pay' });
  const again = { ...first, startedAt: 9000 };
  const waiting = { now: 10_000, questions: [{ path: 'root/pay', createdAt: 9005 }] };
  expect(barOf(first, { ...newest, waiting }).label).toBe('5 ms');
  expect(barOf(again, { ...newest, waiting }).label).toBe('waiting 995 ms');
  expect(barOf({ ...first, path: 'root/other' }, { ...newest, waiting }).label).toBe('5 ms');
});

test('status comes before kind, and what contains others is thin', () => {
  expect(barOf(row({ kind: 'generator' }), newest).look).toBe('model');
  expect(barOf(row({ kind: 'generator', status: 'failed' }), newest).look).toBe('failed');
  expect(barOf(row({ memoized: true }), newest).look).toBe('recorded');
  expect(barOf(row({ hasChildren: true }), newest)).toMatchObject({ look: 'whole', isThin: true });
  expect(barOf(row({ hasChildren: true, kind: 'generator' }), newest).isThin).toBe(false);
});

test('what a fork gave is told apart from what was taken from the log', () => {
  expect(noteOf(row({ memoized: true }))?.word).toBe('=');
  expect(noteOf(row({ memoized: true, edited: 'output' }))).toEqual({
    word: 'edited',
    why: expect.stringContaining('output'),
  });
  expect(noteOf(row({ memoized: true, edited: 'input' }))?.why).toContain('input');
  expect(noteOf(row({ memoized: false }))).toBeNull();
});

test('columns of the overview keep every block and every failure', () => {
  const cells = Array.from({ length: 1000 }, (_, n) => n % 3);
  const failures = cells.map((count) => (count === 2 ? 1 : 0));
  const columns = columnsOf({ cells, failures }, 77);
  expect(columns).toHaveLength(77);
  expect(columns.reduce((sum, one) => sum + one.count, 0)).toBe(cells.reduce((sum, one) => sum + one, 0));
  expect(columns.reduce((sum, one) => sum + one.failed, 0)).toBe(333);
});

test.each([
  ['in the middle', 100, 100],
  ['at the first instant', 0, 0],
  ['at the last instant', 800, 800],
  ['at the last instant, by a rounding error behind it', 800.0001, 800.0001],
])('a bar that took no time is drawn 2 px wide inside of the canvas: %s', (_, left, right) => {
  const drawn = drawnPart(left, right, 800);
  expect(drawn.right - drawn.left).toBeGreaterThanOrEqual(2);
  expect(drawn.left).toBeGreaterThanOrEqual(0);
  expect(drawn.right).toBeLessThanOrEqual(800.001);
});

test('a bar that goes beyond an edge is drawn a little beyond it', () => {
  expect(drawnPart(-500, 2000, 800)).toEqual({ left: -4, right: 804 });
});
