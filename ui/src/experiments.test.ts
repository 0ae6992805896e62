// The Experiments page, the sheet that begins one, and the search for the deciding step, over a host whose answers are
// written here.
import { cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/svelte';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import App from './App.svelte';
import { FakeHost } from './host/fake';
import type { ArmView, ExperimentRow, ExperimentView, SampleView, TryPlan, TryProgress } from './host/host';
import { AppModel } from './model/app.svelte';
import { Router } from './model/route.svelte';

let app: AppModel;
let host: FakeHost;

const sample = (requestId: string, number: number, more: Partial<SampleView> = {}): SampleView => ({
  number,
  requestId,
  status: 'completed',
  output: { eur: 40 * number },
  score: number === 1,
  usage: { modelCalls: 1, promptTokens: 100, completionTokens: 20, totalTokens: 120, sharedCalls: 0, sharedTokens: 0 },
  costUsd: 0.002,
  durationMs: 900,
  differs: { output: true, state: false },
  ...more,
});
const arm = (id: string, axes: object, samples: SampleView[], more: Partial<ArmView> = {}): ArmView => ({
  id,
  axes: axes as ArmView['axes'],
  samples,
  missing: [],
  notStarted: [],
  summary: {
    n: samples.length,
    failed: 0,
    waiting: 0,
    passed: 1,
    rate: 0.5,
    low: 0.09,
    high: 0.91,
    medianMs: 900,
    lowMs: 800,
    highMs: 1000,
    medianTokens: 120,
    costUsd: 0.004,
    unscored: 0,
    differing: samples.length,
    besideBase: id === 'base' ? null : 'not_enough_samples',
  },
  ...more,
});
const VIEW: ExperimentView = {
  id: 'exp_1',
  requestId: 'req-2',
  isRequestGone: false,
  at: 'root/step:write#0',
  startedAt: Date.now() - 60_000,
  base: arm('base', {}, [sample('b1', 1), sample('b2', 2)]),
  arms: [
    arm('1', { model: 'openai/gpt-5' }, [sample('s1', 1), sample('s2', 2, { score: null, scoreError: 'no eur' })]),
    arm('2', { model: 'mistral/large' }, [], { error: 'no such model' }),
  ],
  missing: 0,
  unscored: 0,
  notes: ['models are mocked'],
};
const ROW: ExperimentRow = {
  id: 'exp_1',
  requestId: 'req-2',
  flow: 'research',
  at: 'root/step:write#0',
  startedAt: VIEW.startedAt,
  axes: ['model'],
  arms: 2,
  samples: 4,
  wanted: 6,
};
const PLAN: TryPlan = {
  arms: 2,
  samples: 2,
  modelCalls: 6,
  baseModelCalls: 2,
  scoreModelCalls: 0,
  tokens: 720,
  models: ['openai/gpt-5', 'mistral/large'],
  hosts: ['api.example.com'],
  asksAgain: [],
  otherModels: [],
  cannotRun: [],
  mock: false,
  notes: [],
};

async function open(hash: string, view: ExperimentView = VIEW, rows: ExperimentRow[] = [ROW]) {
  history.replaceState(null, '', hash);
  host = new FakeHost(0, 5);
  vi.spyOn(host, 'experiments').mockResolvedValue(rows);
  vi.spyOn(host, 'experiment').mockImplementation(async () => structuredClone(view));
  app = new AppModel(host, new Router(window));
  render(App, { props: { app } });
}

const text = (id: string) => screen.getByTestId(id).textContent.replaceAll(/\s+/g, ' ').trim();
const type = (id: string, value: string) => fireEvent.input(screen.getByTestId(id), { target: { value } });
const rows = () => screen.getAllByTestId('arm-row').map((row) => row.dataset.arm);

beforeEach(() => localStorage.clear());
afterEach(cleanup);

test('the table has the base arm first, with scores, intervals and what cannot run', async () => {
  await open('#experiments=exp_1');
  await screen.findAllByTestId('arm-row');
  expect(rows()).toEqual(['base', '1', '2']);
  expect(screen.getAllByTestId('arm-score')[0]?.textContent).toBe('50 %');
  expect(screen.getAllByTestId('arm-interval')[0]?.textContent).toBe('9 to 91 % · 1 of 2');
  expect(screen.getAllByTestId('arm-beside').map((cell) => cell.dataset.beside)).toEqual([
    '',
    'not_enough_samples',
    'not_enough_samples',
  ]);
  expect(text('arm-error')).toBe('no such model');
  expect(text('experiment-notes')).toBe('Models are mocked.');
  expect(text('experiment-summary')).toBe('4 samples ended: 0 arms are better than base.');
});

test('keys walk arms and samples, pick two of them, and Compare opens both side by side', async () => {
  await open('#experiments=exp_1');
  const table = await screen.findByTestId('arm-table');
  await screen.findAllByTestId('arm-row');
  const press = (key: string) => fireEvent.keyDown(table, { key });
  await press('ArrowDown');
  await press('ArrowRight');
  await waitFor(() => expect(screen.getAllByTestId('sample-row')).toHaveLength(2));
  await press('ArrowDown');
  await waitFor(() => expect(text('sample-value')).toContain('eur'));
  await press(' ');
  await press('ArrowDown');
  await waitFor(() => expect(text('score-error')).toBe('No score: no eur'));
  expect((screen.getByTestId('compare-picked') as HTMLButtonElement).disabled).toBe(true);
  await press(' ');
  await fireEvent.click(screen.getByTestId('compare-picked'));
  expect(app.route.current).toEqual({ at: 'compare', left: 's1', right: 's2' });
});

test('a sample is compared with the original, and opened', async () => {
  await open('#experiments=exp_1');
  await screen.findAllByTestId('arm-row');
  app.experiments.fold('1');
  await fireEvent.click((await screen.findAllByTestId('sample-row'))[0] as HTMLElement);
  await fireEvent.click(await screen.findByTestId('compare-original'));
  expect(app.route.current).toEqual({ at: 'compare', left: 'req-2', right: 's1' });
  app.route.to({ at: 'experiments', experiment: 'exp_1' });
  await fireEvent.click(await screen.findByTestId('open-sample'));
  await vi.waitFor(() => expect(app.route.place.request).toBe('s1'));
});

test('an arm is adopted after its edit was shown', async () => {
  await open('#experiments=exp_1');
  const adopt = vi.spyOn(host, 'adopt').mockImplementation(async (_id, _arm, write) => ({
    file: 'flows/research.ts',
    difference: '@@ line 3 @@\n   name: "w",\n-  model: "a",\n+  model: "b",',
    before: '',
    after: '',
    values: ['model', 'temperature'],
    leftOut: [{ name: 'session.mode', why: 'a value in state is not in the source' }],
    isWritten: write,
  }));
  await fireEvent.click((await screen.findAllByTestId('arm-row'))[1] as HTMLElement);
  await fireEvent.click(await screen.findByTestId('adopt-arm'));
  const shown = await screen.findByTestId('adopt-difference');
  expect(screen.getByTestId('adopt-values').textContent).toContain('run with model and temperature of the arm.');
  expect(screen.getByTestId('adopt-left').textContent).toContain('session.mode: a value in state');
  expect([...shown.querySelectorAll('p')].map((line) => line.dataset.sign)).toEqual(['@', ' ', '-', '+']);
  expect(adopt.mock.calls).toEqual([['exp_1', '1', false]]);
  await fireEvent.click(screen.getByTestId('do-adopt'));
  expect((await screen.findByTestId('adopted')).textContent).toContain('Wrote flows/research.ts');
  expect(adopt.mock.calls.at(-1)).toEqual(['exp_1', '1', true]);
});

test('one that stopped says why, and goes on with a new budget', async () => {
  const arms = [arm('1', { model: 'openai/gpt-5' }, [sample('s1', 1)], { notStarted: [2] })];
  await open('#experiments=exp_1', { ...VIEW, arms, stopped: 'budget', missing: 2 });
  expect((await screen.findByTestId('experiment-missing')).textContent).toContain('The budget is spent');
  expect(screen.getByTestId('arm-not-started').textContent).toContain('1 not started: the budget is spent');
  let tell: (progress: TryProgress) => void = () => {};
  const goOn = vi.spyOn(host, 'goOnTrying').mockImplementation((_id, _changed, onProgress) => {
    tell = onProgress;
    return new Promise(() => {});
  });
  await type('budget-amount', '0');
  expect((screen.getByTestId('experiment-go-on') as HTMLButtonElement).disabled).toBe(true);
  await type('budget-amount', '40');
  await fireEvent.click(screen.getByTestId('experiment-go-on'));
  expect(goOn.mock.calls[0]?.[1]).toEqual({ budget: { calls: 40 } });
  tell({ experimentId: 'exp_1', done: 1, of: 2, failed: 0 });
  await waitFor(() => expect(text('experiment-progress')).toBe('1 of 2 samples'));
  const stop = vi.spyOn(host, 'stopExperiments');
  await fireEvent.click(screen.getByTestId('experiment-stop'));
  expect(stop).toHaveBeenCalledTimes(1);
});

test('one that stopped says what is left to do, and asks again if the budget changes', async () => {
  const left = { toBegin: 1, toContinue: 1, toScore: 3 };
  const spent = '2 of the 2 model calls of the budget were made before; 0 are left';
  const planned = vi.fn(async () => ({ ...PLAN, left, modelCalls: 5, baseModelCalls: 0, notes: [spent] }));
  vi.spyOn(FakeHost.prototype, 'planGoingOn').mockImplementation(planned);
  for (const stopped of ['budget', 'cancelled'] as const) {
    await open('#experiments=exp_1', { ...VIEW, stopped, missing: 2, unscored: 3 });
    await waitFor(() =>
      expect(text('try-plan-words')).toBe(
        'Left to do: 1 sample to begin, 1 sample to continue, 3 samples to score: at most 5 model calls, 720 tokens',
      ),
    );
    expect(text('experiment-left')).toContain(spent);
    expect(planned).toHaveBeenLastCalledWith('exp_1', {});
    await type('budget-amount', 'many');
    await waitFor(() => expect(text('try-plan')).toContain('Complete the fields above'));
    await type('budget-amount', '9');
    await waitFor(() => expect(planned).toHaveBeenLastCalledWith('exp_1', { budget: { calls: 9 } }));
    cleanup();
  }
  // Without the request nothing can go on.
  planned.mockClear();
  await open('#experiments=exp_1', { ...VIEW, missing: 2, isRequestGone: true });
  await screen.findByTestId('experiment-missing');
  expect(screen.queryByTestId('experiment-left')).toBeNull();
  expect(planned).not.toHaveBeenCalled();
  vi.restoreAllMocks();
});

test('without an experiment the page says how to begin one', async () => {
  await open('#experiments=', VIEW, []);
  expect((await screen.findByTestId('experiments-empty')).textContent).toContain('Try another model');
});

test('the sheet says the cost first, tells what is wrong at its field, and opens what it began', async () => {
  await open('#session=ses-2&request=req-2');
  await screen.findAllByTestId('timeline-row');
  const generator = 'req-2:root/step:outline:0';
  app.select(generator);
  vi.spyOn(host, 'planTry').mockResolvedValue(PLAN);
  const tryOut = vi.spyOn(host, 'tryOut').mockImplementation((_query, onProgress) => {
    onProgress({ experimentId: 'exp_1', done: 0, of: 6, failed: 0 });
    return new Promise(() => {});
  });
  await waitFor(() => expect(app.detail.answer?.block.instanceId).toBe(generator));
  app.window.sheet = 'try';
  await screen.findByTestId('try-sheet');
  expect(text('try-base')).toContain('model');
  await type('try-models', 'openai/gpt-5\nmistral/large');
  await type('try-samples', 'many');
  await waitFor(() => expect(text('try-plan')).toContain('Complete the fields'));
  const samples = screen.getByTestId('try-samples');
  expect(samples.getAttribute('aria-invalid')).toBe('true');
  expect((screen.getByTestId('do-try') as HTMLButtonElement).disabled).toBe(true);
  await type('try-samples', '2');
  await type('score-expression', 'output.eur <= 100');
  await waitFor(() =>
    expect(text('try-plan-words')).toBe(
      '2 arms × 2 samples: at most 6 model calls (2 with nothing changed), 720 tokens',
    ),
  );
  expect(text('try-plan-asks')).toContain('Hosts: api.example.com');
  await waitFor(() => expect((screen.getByTestId('do-try') as HTMLButtonElement).disabled).toBe(false));
  await fireEvent.click(screen.getByTestId('do-try'));
  await screen.findByTestId('experiments-page');
  expect(tryOut.mock.calls[0]?.[0]).toMatchObject({
    request: 'req-2',
    models: ['openai/gpt-5', 'mistral/large'],
    samples: 2,
    score: { expression: 'output.eur <= 100' },
  });
  expect(tryOut.mock.calls[0]?.[0].at).toMatch(/^root.*#0$/);
  expect(app.window.sheet).toBeNull();
});

test('what the engine refuses is said before it can be run', async () => {
  await open('#session=ses-2&request=req-2');
  await screen.findAllByTestId('timeline-row');
  vi.spyOn(host, 'planTry').mockRejectedValue({
    kind: 'invalid',
    message: '--score: column 8: the expression ends too early',
  });
  app.window.sheet = 'try';
  expect((await screen.findByTestId('try-plan-fault')).textContent).toContain('Score: column 8');
  expect((screen.getByTestId('do-try') as HTMLButtonElement).disabled).toBe(true);
});

test('the deciding step is marked in the curve, and a point leads to its block', async () => {
  await open('#session=ses-2&request=req-3');
  await screen.findAllByTestId('timeline-row');
  const steps = [
    { path: 'root/tap:begin', attempt: 0, seq: 3 },
    { path: 'root/step:outline', attempt: 0, seq: 9 },
  ];
  const point = { failures: 8, samples: 8, rate: 1, low: 0.7, high: 1 };
  const plan = vi.spyOn(host, 'planCulprit').mockResolvedValue({ ...PLAN, samples: 200, modelCalls: 800 });
  vi.spyOn(host, 'culprit').mockImplementation(async (query, onProgress) => {
    onProgress({ done: 8, of: 200, failed: 8 });
    const curve = steps.map((step) => ({ ...step, ...point }));
    const [, culprit] = steps;
    return { requestId: query.request ?? '', verdict: 'found', culprit, curve, steps, forks: 16, notes: ['enough'] };
  });
  await fireEvent.click(await screen.findByTestId('go-culprit'));
  expect((screen.getByTestId('culprit-fails') as HTMLInputElement).value).toBe('status == "failed"');
  await waitFor(() => expect(text('culprit-asks')).toContain('At most 800 model calls: openai/gpt-5, mistral/large.'));
  expect(plan).toHaveBeenCalledTimes(1);
  await fireEvent.click(screen.getByTestId('do-culprit'));
  await waitFor(() => expect(text('culprit-verdict')).toBe('Decided at root/step:outline'));
  const points = within(screen.getByTestId('culprit-curve')).getAllByTestId('culprit-point');
  expect(points.map((one) => one.dataset.culprit)).toEqual(['false', 'true']);
  await fireEvent.click(points[0] as HTMLElement);
  await waitFor(() => expect(app.selected).toBe('req-3:root/tap:begin:0'));
  expect(text('culprit-notes')).toBe('Enough.');
  await fireEvent.click(screen.getByTestId('culprit-close'));
  await waitFor(() => expect(screen.queryByTestId('culprit-panel')).toBeNull());
});
