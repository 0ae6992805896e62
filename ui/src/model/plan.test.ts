import { expect, test } from 'vitest';
import type { PlanRow } from '../host/host';
import { planSentence, planWords } from './plan';

const plan: PlanRow = { fromLog: 12, runsAgain: 4, modelsAsked: 1, mayHaveHappened: [], again: [] };
const fetched = { path: 'root/step:pay', kind: 'fetch', ordinal: 0 };

test('says what is taken, what runs and what may have happened', () => {
  expect(planWords(plan)).toBe('taken from the log: 12 · runs again: 4 · models asked: 1');
  expect(planWords({ ...plan, mayHaveHappened: [fetched] })).toMatch(/may have happened: fetch at root\/step:pay$/);
  expect(planWords({ ...plan, mayHaveHappened: [fetched, fetched] })).toMatch(/root\/step:pay and 1 more$/);
});

test('the foot of a request says it as a sentence', () => {
  expect(planSentence(plan)).toBe('resume would take 12 from the log, run 4 again, ask 1 model');
  expect(planSentence({ ...plan, error: { name: 'ReplayDriftError', message: '' } })).toMatch(/refused/);
});
