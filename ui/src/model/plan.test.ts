import { expect, test } from 'vitest';
import type { PlanRow } from '../host/host';
import { insideWords, planSentence, planWords } from './plan';

const plan: PlanRow = { fromLog: 12, runsAgain: 4, modelsAsked: 1, mayHaveHappened: [], again: [] };
const fetched = { path: 'root/step:pay', kind: 'fetch', ordinal: 0 };

test('says what is taken, what runs and what may have happened', () => {
  expect(planWords(plan)).toBe('reused: 12 · re-run: 4 · model calls: 1');
  expect(planWords({ ...plan, mayHaveHappened: [fetched] })).toMatch(/may have happened: fetch at root\/step:pay$/);
  expect(planWords({ ...plan, mayHaveHappened: [fetched, fetched] })).toMatch(/root\/step:pay and 1 more$/);
});

test('blocks that go on are counted apart from those that run again', () => {
  expect(planWords({ ...plan, goesOn: 2 })).toMatch(/: 12 · continued: 2 · re-run: 4 · /);
  expect(planSentence({ ...plan, goesOn: 2 })).toMatch(/^Resume: reuse 12, continue 2, re-run 4, /);
});

test('blocks inside of those from the log are told beside them', () => {
  const deep = { ...plan, fromLog: 5, insideFromLog: 9 };
  expect(planWords(deep)).toMatch(/^reused: 5 \(\+9 nested\) · /);
  expect(planSentence(deep)).toBe('Resume: reuse 14, re-run 4, 1 model call');
  expect(insideWords(deep)).toBe('+9 nested');
  expect(insideWords(plan)).toBe('');
});

test('models that may be asked more often are told so', () => {
  expect(planWords({ ...plan, mayAskMore: true })).toMatch(/model calls: at least 1$/);
  expect(planSentence({ ...plan, mayAskMore: true })).toMatch(/, at least 1 model call$/);
  expect(planWords({ ...plan, modelsAsked: 0, mayAskMore: true })).toMatch(/model calls: 0 or more$/);
  expect(planSentence({ ...plan, modelsAsked: 0, mayAskMore: true })).toMatch(/perhaps model calls$/);
  expect(planSentence({ ...plan, modelsAsked: 0 })).toMatch(/no model calls$/);
});

test('the foot of a request says it as a sentence', () => {
  expect(planSentence(plan)).toBe('Resume: reuse 12, re-run 4, 1 model call');
  expect(planSentence({ ...plan, error: { name: 'ReplayDriftError', message: '' } })).toMatch(/refused/);
});
