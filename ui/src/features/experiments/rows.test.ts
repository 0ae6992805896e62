import { expect, test } from 'vitest';
import type { ArmSummary, ArmView, ExperimentView, SampleView } from '../../host/host';
import { hasBase, rowsOf, scoreRange, sorted } from './rows';

const arm = (id: string, summary: Partial<ArmSummary> = {}, samples = 0): ArmView => ({
  id,
  axes: id === 'base' ? {} : { model: id },
  samples: Array.from({ length: samples }, (_, n) => ({ number: n + 1, requestId: `${id}-${n}` }) as SampleView),
  missing: [],
  notStarted: [],
  summary: { n: samples, failed: 0, waiting: 0, unscored: 0, differing: 0, ...summary },
});
const view = (base: ArmView, arms: ArmView[]): ExperimentView => ({
  id: 'exp_1',
  requestId: 'req_1',
  isRequestGone: false,
  at: 'root#0',
  startedAt: 0,
  base,
  arms,
  missing: 0,
  unscored: 0,
  notes: [],
});
const ARMS = [arm('1', { rate: 0.5, medianMs: 30 }), arm('2', { medianMs: 10 }, 2), arm('3', { rate: 0.9 })];

test('the base arm is first, however the others are sorted', () => {
  const one = view(arm('base', { rate: 0.1 }), ARMS);
  const ids = (sort: Parameters<typeof rowsOf>[1]) => rowsOf(one, sort, new Set()).map((row) => row.id);
  expect(ids({ by: 'arm', descending: false })).toEqual(['base', '1', '2', '3']);
  expect(ids({ by: 'score', descending: true })).toEqual(['base', '3', '1', '2']);
  expect(ids({ by: 'latency', descending: false })).toEqual(['base', '2', '1', '3']);
});

test('an arm without a value comes last in both directions', () => {
  const ids = (descending: boolean) => sorted(ARMS, { by: 'score', descending }).map((one) => one.id);
  expect([ids(true), ids(false)]).toEqual([
    ['3', '1', '2'],
    ['1', '3', '2'],
  ]);
});

test('samples stand below an arm that is unfolded', () => {
  const rows = rowsOf(view(arm('base'), ARMS), { by: 'arm', descending: false }, new Set(['2']));
  expect(rows.map((row) => row.id)).toEqual(['base', '1', '2', '2 1', '2 2', '3']);
  expect(rows[3]?.sample?.requestId).toBe('2-0');
});

test('if nothing was varied, the only arm is there once', () => {
  const only = arm('1', {}, 3);
  const one = view(only, [only]);
  expect(hasBase(one)).toBe(false);
  expect(rowsOf(one, { by: 'arm', descending: false }, new Set())).toHaveLength(1);
});

test('rates are drawn from 0 to 1, numbers between the least and the greatest', () => {
  expect(scoreRange(view(arm('base', { rate: 0.2 }), ARMS))).toEqual({ from: 0, to: 1 });
  const numbers = [arm('1', { mean: 5, low: 3, high: 9 }), arm('2', { mean: 7 })];
  expect(scoreRange(view(arm('base', { mean: 4 }), numbers))).toEqual({ from: 3, to: 9 });
  expect(scoreRange(view(arm('base', { mean: 4 }), []))).toEqual({ from: 3.5, to: 4.5 });
});

test('a thousand arms with ten samples each are ordered at once', () => {
  const many = Array.from({ length: 1000 }, (_, n) => arm(String(n + 1), { rate: (n * 37) % 100 }, 10));
  const began = performance.now();
  const rows = rowsOf(view(arm('base'), many), { by: 'score', descending: true }, new Set(many.map((one) => one.id)));
  expect(rows).toHaveLength(11_001);
  expect(performance.now() - began).toBeLessThan(200);
});
