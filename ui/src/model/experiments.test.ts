// Experiments of this window: begun, followed while they run, gone on with, and forgotten with the folder.
import { beforeEach, expect, test, vi } from 'vitest';
import { FakeHost } from '../host/fake';
import type { ExperimentView, TryProgress } from '../host/host';
import { Experiments } from './experiments.svelte';

const view = (id: string, more: Partial<ExperimentView> = {}): ExperimentView => ({
  id,
  requestId: 'req_1',
  isRequestGone: false,
  at: 'root#0',
  startedAt: 0,
  base: {
    id: 'base',
    axes: {},
    samples: [],
    missing: [],
    notStarted: [],
    summary: { n: 0, failed: 0, waiting: 0, unscored: 0, differing: 0 },
  },
  arms: [],
  missing: 0,
  unscored: 0,
  notes: [],
  ...more,
});

let host: FakeHost;
let experiments: Experiments;
let tell: (progress: TryProgress) => void;
let end: (view: ExperimentView) => void;
let fail: (thrown: unknown) => void;
const settle = () => new Promise((resolve) => setTimeout(resolve));

beforeEach(() => {
  host = new FakeHost(0, 0);
  experiments = new Experiments(host);
  const run = (onProgress: typeof tell) => {
    tell = onProgress;
    return new Promise<ExperimentView>((resolve, reject) => ([end, fail] = [resolve, reject]));
  };
  vi.spyOn(host, 'tryOut').mockImplementation((_, onProgress) => run(onProgress));
  vi.spyOn(host, 'goOnTrying').mockImplementation((_, __, onProgress) => run(onProgress));
});

test('it has an id with the first report, and runs on', async () => {
  const started = experiments.start({});
  tell({ experimentId: 'exp_1', done: 0, of: 4, failed: 0 });
  expect(await started).toBe('exp_1');
  tell({ experimentId: 'exp_1', done: 2, of: 4, failed: 1 });
  expect(experiments.running.get('exp_1')).toMatchObject({ done: 2, of: 4 });
  end(view('exp_1', { stopped: 'budget', missing: 2 }));
  await settle();
  expect(experiments.running.size).toBe(0);
  expect(experiments.ended.get('exp_1')?.stopped).toBe('budget');
});

test('what is refused before it has an id is thrown', async () => {
  const started = experiments.start({});
  fail({ kind: 'invalid', message: 'no generator' });
  await expect(started).rejects.toMatchObject({ message: 'no generator' });
  expect(experiments.running.size).toBe(0);
});

test('what fails later is kept with the experiment', async () => {
  const started = experiments.start({});
  tell({ experimentId: 'exp_1', done: 0, of: 4, failed: 0 });
  await started;
  fail({ kind: 'storage', message: 'the disk is full' });
  await settle();
  expect(experiments.faults.get('exp_1')?.message).toBe('the disk is full');
});

test('the one that is shown is read again when it advances, the others are not', async () => {
  const read = vi.spyOn(host, 'experiment').mockImplementation(async (id) => view(id));
  experiments.open('exp_1');
  await settle();
  expect(read).toHaveBeenCalledTimes(1);
  const going = experiments.goOn('exp_2', { budget: { calls: 9 } });
  tell({ experimentId: 'exp_2', done: 1, of: 2, failed: 0 });
  end(view('exp_2'));
  await going;
  expect(read).toHaveBeenCalledTimes(1);
  expect(host.goOnTrying).toHaveBeenCalledWith('exp_2', { budget: { calls: 9 } }, expect.anything());
});

test('why an arm cannot run is told once, and stays with what is read later', async () => {
  const arm = {
    id: '1',
    axes: {},
    samples: [],
    missing: [],
    notStarted: [],
    summary: { n: 0, failed: 0, waiting: 0, unscored: 0, differing: 0 },
  };
  const read = view('exp_1', { arms: [arm], stopped: 'cancelled', missing: 2 });
  vi.spyOn(host, 'experiment').mockResolvedValue(read);
  experiments.open('exp_1');
  const going = experiments.goOn('exp_1', {});
  end({ ...read, arms: [{ ...arm, error: 'no such model' }], stopped: null });
  await going;
  await vi.waitFor(() => expect(experiments.view?.arms[0]?.error).toBe('no such model'));
  expect(experiments.view?.stopped).toBeNull();
});

test('what was read is read again when requests were deleted', async () => {
  const read = vi.spyOn(host, 'experiment').mockImplementation(async (id) => view(id));
  const list = vi.spyOn(host, 'experiments');
  experiments.requestsChanged();
  expect([read.mock.calls.length, list.mock.calls.length]).toEqual([0, 0]);
  await experiments.list();
  experiments.open('exp_1');
  await settle();
  experiments.requestsChanged();
  await vi.waitFor(() => expect(read).toHaveBeenCalledTimes(2));
  expect(list).toHaveBeenCalledTimes(2);
});

test('two samples are picked at most, and another experiment has none of them', () => {
  for (const one of ['a', 'b', 'c']) experiments.pick(one);
  expect(experiments.picked).toEqual(['b', 'c']);
  experiments.pick('b');
  expect(experiments.picked).toEqual(['c']);
  experiments.fold('1');
  expect([...experiments.unfolded]).toEqual(['1']);
  experiments.open('exp_9');
  expect([experiments.picked.length, experiments.unfolded.size]).toEqual([0, 0]);
});

test('the list is read by pages', async () => {
  const row = (n: number) => ({ id: `exp_${n}`, requestId: 'r', at: 'root', startedAt: n, axes: [] });
  const all = Array.from({ length: 150 }, (_, n) => ({ ...row(n), arms: 1, samples: 1, wanted: 1 }));
  vi.spyOn(host, 'experiments').mockImplementation(async (limit, offset) => all.slice(offset, offset + limit));
  await experiments.list();
  expect([experiments.rows?.length, experiments.hasMore]).toEqual([100, true]);
  await experiments.more();
  expect([experiments.rows?.length, experiments.hasMore]).toEqual([150, false]);
});

test('with another folder nothing of the one before is left, and what runs is stopped', async () => {
  const stop = vi.spyOn(host, 'stopExperiments');
  const started = experiments.start({});
  tell({ experimentId: 'exp_1', done: 0, of: 4, failed: 0 });
  await started;
  experiments.clear();
  expect(stop).toHaveBeenCalledTimes(1);
  tell({ experimentId: 'exp_1', done: 1, of: 4, failed: 0 });
  end(view('exp_1'));
  await settle();
  expect([experiments.running.size, experiments.rows]).toEqual([0, null]);
});
