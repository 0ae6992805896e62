import { expect, test } from 'vitest';
import type { PlanRow } from '../host/host';
import { insideWords, planSentence, planWords } from './plan';

const plan: PlanRow = { fromLog: 12, runsAgain: 4, modelsAsked: 1, mayHaveHappened: [], again: [] };
const fetched = { path: 'root/step:pay', kind: 'fetch', ordinal: 0 };

test('says what is taken, what runs and what may have happened', () => {
  expect(planWords(plan)).toBe('taken from the log: 12 · runs again: 4 · models asked: 1');
  expect(planWords({ ...plan, mayHaveHappened: [fetched] })).toMatch(/may have happened: fetch at root\/step:pay$/);
  expect(planWords({ ...plan, mayHaveHappened: [fetched, fetched] })).toMatch(/root\/step:pay and 1 more$/);
});

test('blocks that go on are counted apart from those that run again', () => {
  expect(planWords({ ...plan, goesOn: 2 })).toMatch(/: 12 · goes on: 2 · runs again: 4 · /);
  expect(planSentence({ ...plan, goesOn: 2 })).toMatch(/^resume would take 12 from the log, go on with 2, run 4 again, /);
});

test('blocks inside of those from the log are told beside them', () => {
  const deep = { ...plan, fromLog: 5, insideFromLog: 9 };
  expect(planWords(deep)).toMatch(/^taken from the log: 5, with the 9 inside them · /);
  expect(planSentence(deep)).toBe('resume would take 5 from the log with the 9 inside them, run 4 again, ask 1 model');
  expect(insideWords({ ...deep, fromLog: 1 })).toBe('with the 9 inside it');
  expect(insideWords(plan)).toBe('');
});

test('models that may be asked more often are told so', () => {
  expect(planWords({ ...plan, mayAskMore: true })).toMatch(/models asked: at least 1$/);
  expect(planSentence({ ...plan, mayAskMore: true })).toMatch(/ask at least 1 model$/);
  expect(planWords({ ...plan, modelsAsked: 0, mayAskMore: true })).toMatch(/models asked: 0 or more$/);
  expect(planSentence({ ...plan, modelsAsked: 0, mayAskMore: true })).toMatch(/perhaps ask models$/);
  expect(planSentence({ ...plan, modelsAsked: 0 })).toMatch(/ask no model again$/);
});

test('the foot of a request says it as a sentence', () => {
  expect(planSentence(plan)).toBe('resume would take 12 from the log, run 4 again, ask 1 model');
  expect(planSentence({ ...plan, error: { name: 'ReplayDriftError', message: '' } })).toMatch(/refused/);
});
