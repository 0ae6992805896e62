import { expect, test } from 'vitest';
import type { CulpritView, TryPlan } from '../../host/host';
import { newSearch, searchOf } from './search';
import { asksWords, drawn, pointWords, verdictWords } from './words';

const VIEW: CulpritView = {
  requestId: 'req_1',
  verdict: 'found',
  culprit: { path: 'root/step:choose', attempt: 0, seq: 9 },
  steps: [
    { path: 'root/step:plan', attempt: 0, seq: 3 },
    { path: 'root/step:choose', attempt: 0, seq: 9 },
    { path: 'root/step:write', attempt: 0, seq: 20 },
  ],
  curve: [
    { path: 'root/step:plan', attempt: 0, seq: 3, failures: 2, samples: 8, rate: 0.25, low: 0.07, high: 0.59 },
    { path: 'root/step:choose', attempt: 0, seq: 9, failures: 8, samples: 8, rate: 1, low: 0.68, high: 1 },
  ],
  forks: 16,
  notes: [],
};

test('the verdict is said in words', () => {
  expect(verdictWords(VIEW)).toBe('Decided at root/step:choose');
  expect(verdictWords({ ...VIEW, verdict: 'before_the_first_step', culprit: null })).toBe(
    'Decided before the first step',
  );
  expect(verdictWords({ ...VIEW, verdict: 'not_enough_samples', culprit: null })).toBe('Not enough samples to tell');
});

test('what forks may ask is said before they run', () => {
  const plan: TryPlan = {
    arms: 1,
    samples: 200,
    modelCalls: 1_200,
    baseModelCalls: 0,
    scoreModelCalls: 0,
    models: ['openai/gpt-5'],
    otherModels: ['mistral/large'],
    hosts: ['api.example.com'],
    asksAgain: ['root/step:pay'],
    cannotRun: [],
    mock: false,
    notes: ['another way through the flow may fetch from b.example.com'],
  };
  expect(asksWords(plan)).toBe(
    'At most 1,200 model calls: openai/gpt-5. Another way through the flow may ask: mistral/large. Hosts: api.example.com. ' +
      'Each fork asks for approval again at: root/step:pay. Another way through the flow may fetch from b.example.com.',
  );
  const none = { ...plan, otherModels: [], hosts: [], asksAgain: [], notes: [] };
  expect(asksWords({ ...none, mock: true })).toBe('Models are mocked, and cost nothing.');
  expect(asksWords({ ...none, models: [], modelCalls: 0 })).toBe('No model is asked.');
});

test('points stand in the order of all steps, with their intervals above and below', () => {
  const points = drawn(VIEW, { width: 220, height: 120, left: 10, right: 10, top: 10, bottom: 10 });
  expect(points.map(({ x, y, low, high, isCulprit }) => [x, y, Math.round(low), Math.round(high), isCulprit])).toEqual([
    [10, 85, 103, 51, false],
    [110, 10, 42, 10, true],
  ]);
  const [first] = VIEW.curve;
  expect(first && pointWords(first)).toBe('From before root/step:plan: 25 %, 2 of 8, interval 7 % to 59 %');
});

test('a single step stands in the middle', () => {
  const one = { ...VIEW, steps: VIEW.steps.slice(0, 1), curve: VIEW.curve.slice(0, 1) };
  expect(drawn(one, { width: 100, height: 50, left: 0, right: 0, top: 0, bottom: 0 })[0]?.x).toBe(50);
});

test('a search asks for the failure of a request that failed, and for an expression of any other', () => {
  expect(searchOf(newSearch(true), 'req_1')).toEqual({
    query: {
      request: 'req_1',
      fails: 'status == "failed"',
      samples: 8,
      budget: null,
      modelsBy: 'asRecorded',
      jobs: null,
    },
    wrong: {},
  });
  expect(searchOf(newSearch(false), 'req_1').wrong.fails).toContain('output.eur > 100');
  const odd = { ...newSearch(true), samples: '0', budget: { amount: '0', unit: 'usd' as const } };
  expect(Object.keys(searchOf(odd, 'req_1').wrong)).toEqual(['samples', 'budget']);
  expect(
    searchOf({ ...newSearch(true), budget: { amount: '20', unit: 'calls' as const } }, 'req_1').query.budget,
  ).toEqual({ calls: 20 });
});
