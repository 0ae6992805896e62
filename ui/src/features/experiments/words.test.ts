import { expect, test } from 'vitest';
import type { ArmSummary, ArmView, ExperimentView, SampleView, TryPlan } from '../../host/host';
import { lineOf } from '../../base/difference';
import {
  adoptedWords,
  armTitle,
  countWords,
  intervalWords,
  latencyWords,
  planWords,
  progressWords,
  sampleScore,
  scoreWords,
  sharedCallsWords,
  stoppedWords,
  notStartedWords,
} from './words';

const PLAN: TryPlan = {
  arms: 3,
  samples: 5,
  modelCalls: 20,
  baseModelCalls: 5,
  scoreModelCalls: 0,
  tokens: 12_400,
  costUsd: 0.04,
  models: ['a'],
  hosts: [],
  asksAgain: [],
  otherModels: [],
  cannotRun: [],
  mock: false,
  notes: [],
};
const summary = (more: Partial<ArmSummary>): ArmSummary => ({
  n: 5,
  failed: 0,
  waiting: 0,
  unscored: 0,
  differing: 0,
  ...more,
});

test('a plan is one sentence', () => {
  expect(planWords(PLAN)).toBe(
    '3 arms × 5 samples: at most 20 model calls (5 with nothing changed), 12,400 tokens, 0.040 US dollars',
  );
  expect(
    planWords({ ...PLAN, arms: 1, samples: 1, modelCalls: 1, baseModelCalls: 0, tokens: null, costUsd: null }),
  ).toBe('1 arm × 1 sample: at most 1 model call');
  expect(planWords({ ...PLAN, modelCalls: 0, baseModelCalls: 0, tokens: null, costUsd: null })).toContain(
    'no model calls',
  );
});

test('what goes on says what is left to do', () => {
  const left = { toBegin: 2, toContinue: 1, toScore: 0 };
  expect(planWords({ ...PLAN, left, modelCalls: 3, baseModelCalls: 0, tokens: null, costUsd: null })).toBe(
    'Left to do: 2 samples to begin, 1 sample to continue: at most 3 model calls',
  );
  expect(planWords({ ...PLAN, left: { toBegin: 0, toContinue: 0, toScore: 0 } })).toBe('Nothing is left to do');
});

test('a rate is a percentage with its interval, a mean is a number', () => {
  const rate = summary({ rate: 0.8, passed: 4, low: 0.376, high: 0.964 });
  expect([scoreWords(rate), intervalWords(rate), countWords(rate)]).toEqual(['80 %', '38 to 96 %', '4 of 5 pass']);
  const mean = summary({ mean: 12.3456, low: 10, high: 15.5 });
  expect([scoreWords(mean), intervalWords(mean), countWords(mean)]).toEqual(['12.35', '10 to 15.5', 'mean of 5']);
  expect([intervalWords(summary({ mean: 5 })), intervalWords(summary({ mean: 5, n: 1 }))]).toEqual(['all equal', '']);
  expect([scoreWords(summary({})), intervalWords(summary({})), countWords(summary({}))]).toEqual([null, '', '']);
  expect(countWords(summary({ rate: 1, passed: 3, unscored: 2 }))).toBe('3 of 3 pass, 2 without score');
  expect(countWords(summary({ mean: 1, unscored: 2 }))).toBe('mean of 3, 2 without score');
  expect(latencyWords(summary({ lowMs: 900, highMs: 2100 }))).toBe('900 ms to 2.10 s');
  expect(latencyWords(summary({ lowMs: 900, highMs: 900 }))).toBe('');
});

test('an arm is called by its values', () => {
  expect(armTitle({ id: '1', axes: { model: 'gpt-5-mini', temperature: 0.5, code: '' } })).toBe(
    'model gpt-5-mini · temperature 0.5 · code (empty)',
  );
  expect(armTitle({ id: 'base', axes: {} })).toBe('As recorded');
  expect(armTitle({ id: '1', axes: {} })).toBe('Nothing changed');
});

test('a sample without a score says so', () => {
  const sample = (more: Partial<SampleView>) => sampleScore(more as SampleView).text;
  expect(sample({ score: true })).toBe('Passes');
  expect(sample({ score: false })).toBe('Fails');
  expect(sample({ score: 0.123456 })).toBe('0.1235');
  expect(sample({ scoreError: 'eur is not defined' })).toBe('No score');
  expect(sample({})).toBe('');
});

test('progress and why it stopped', () => {
  expect(progressWords({ done: 12, of: 20, failed: 0 })).toBe('12 of 20 samples');
  expect(progressWords({ done: 12, of: 20, failed: 2 })).toBe('12 of 20 samples, 2 failed');
  expect(progressWords({ done: 0, of: 0, failed: 0 })).toBe('Starting…');
  const view = { missing: 8, unscored: 0, arms: [] as ExperimentView['arms'], isRequestGone: false };
  expect(stoppedWords({ ...view, stopped: 'budget' })).toEqual({
    title: 'The budget is spent',
    message: '8 samples are missing. What has ended is shown.',
  });
  expect(stoppedWords({ ...view, stopped: 'cancelled' }).title).toBe('Stopped');
  expect(stoppedWords({ ...view, missing: 1 }).title).toBe('1 sample is missing');
  expect(stoppedWords({ ...view, missing: 0, unscored: 2, stopped: 'budget' }).message).toBe(
    '2 samples have no score yet. What has ended is shown.',
  );
  expect(stoppedWords({ ...view, isRequestGone: true }).message).toContain('cannot go on');
});

test('an arm says which samples the budget left no room for', () => {
  const arm = { notStarted: [2, 3] } as ArmView;
  expect(notStartedWords(arm, 'budget')).toBe('2 not started: the budget is spent');
  expect(notStartedWords(arm, 'cancelled')).toBe('');
  expect(notStartedWords({ ...arm, notStarted: [] }, 'budget')).toBe('');
  expect(notStartedWords({ ...arm, error: 'no such model' }, 'budget')).toBe('');
});

test('lines of an edit have signs', () => {
  expect(lineOf('@@ line 7 @@')).toEqual({ sign: '@', text: 'line 7' });
  expect(lineOf('-  model: "a",')).toEqual({ sign: '-', text: '  model: "a",' });
  expect(lineOf('+x')).toEqual({ sign: '+', text: 'x' });
  expect(lineOf('  kept')).toEqual({ sign: ' ', text: ' kept' });
  expect(lineOf('')).toEqual({ sign: ' ', text: '' });
});

test('calls that other samples paid for are said', () => {
  expect(sharedCallsWords({ modelCalls: 3, sharedCalls: 0 })).toBe('');
  expect(sharedCallsWords({ modelCalls: 3, sharedCalls: 3 })).toBe(' (shared with other samples, which paid)');
  expect(sharedCallsWords({ modelCalls: 3, sharedCalls: 1 })).toBe(
    ' (1 of them shared with other samples, which paid)',
  );
});

test('what adopting an arm writes is named', () => {
  expect(adoptedWords(['model'])).toBe('model of the arm');
  expect(adoptedWords(['model', 'prompt', 'temperature'])).toBe('model, prompt and temperature of the arm');
});
