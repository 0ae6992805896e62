import { expect, test } from 'vitest';
import type { Host, PlanRow, ResumeOptions, SuspensionRow } from '../host/host';
import { insideWords, planAhead, planSentence, planWords } from './plan';

const plan: PlanRow = { fromLog: 12, runsAgain: 4, modelsAsked: 1, mayHaveHappened: [], again: [] };
const ahead = (fields: Partial<PlanRow>) => ({ plan: { ...plan, ...fields }, reply: null });
const fetched = { path: 'root/step:pay', kind: 'fetch', ordinal: 0 };

test('a plan says what is reused, what runs and what may have happened', () => {
  expect(planWords(plan)).toMatch(/^reused: 12 · re-run: 4 · model calls: 1 · blocks that never ran are not counted$/);
  expect(planWords({ ...plan, mayHaveHappened: [fetched] })).toMatch(/may have happened: fetch at root\/step:pay · /);
  expect(planWords({ ...plan, mayHaveHappened: [fetched, fetched] })).toMatch(/root\/step:pay and 1 more · /);
});

test('blocks that continue are counted separately from those that run again', () => {
  expect(planWords({ ...plan, goesOn: 2 })).toMatch(/: 12 · continued: 2 · re-run: 4 · /);
  expect(planSentence(ahead({ goesOn: 2 }))).toMatch(/^Resume: reuse 12, continue 2, re-run 4, /);
});

test('blocks inside reused blocks are shown as nested', () => {
  const deep = { ...plan, fromLog: 5, insideFromLog: 9 };
  expect(planWords(deep)).toMatch(/^reused: 5 \(\+9 nested\) · /);
  expect(planSentence(ahead(deep))).toMatch(/^Resume: reuse 14, re-run 4, 1 model call, /);
  expect(insideWords(deep)).toBe('+9 nested');
  expect(insideWords(plan)).toBe('');
});

test('a plan says whether there may be more model calls', () => {
  expect(planWords({ ...plan, mayAskMore: true })).toMatch(/model calls: at least 1 · /);
  expect(planSentence(ahead({ mayAskMore: true }))).toMatch(/, at least 1 model call, /);
  expect(planWords({ ...plan, modelsAsked: 0, mayAskMore: true })).toMatch(/model calls: 0 or more · /);
  expect(planSentence(ahead({ modelsAsked: 0, mayAskMore: true }))).toMatch(/, perhaps model calls, /);
});

test('a plan never promises no model calls, because blocks that never ran may make some', () => {
  const words = planSentence(ahead({ runsAgain: 1, modelsAsked: 0 }));
  expect(words).toBe('Resume: reuse 12, re-run 1, plus any blocks that never ran');
});

test('the footer of a request shows the plan as a sentence', () => {
  expect(planSentence(ahead({}))).toBe('Resume: reuse 12, re-run 4, 1 model call, plus any blocks that never ran');
  expect(planSentence({ plan, reply: 'approve' })).toMatch(/^If approved: reuse 12, /);
  expect(planSentence(ahead({ error: { name: 'ReplayDriftError', message: '' } }))).toMatch(/refused/);
});

/** A host that returns the plan and notes the options. */
function hostOf(questions: Partial<SuspensionRow>[]) {
  const given: ResumeOptions[] = [];
  const host = {
    suspensions: async () => questions,
    planResume: async (_: string, options: ResumeOptions) => (given.push(options), plan),
  } as unknown as Host;
  return { host, given };
}
const approval: Partial<SuspensionRow> = { id: 'one', allow: ['approve', 'reject', 'submit'] };

test('a request that waits for approval is planned as approved', async () => {
  const { host, given } = hostOf([approval]);
  const found = await planAhead(host, { request: 'r', seq: 9, status: 'suspended' });
  expect(found).toEqual({ plan, reply: 'approve' });
  expect(given).toEqual([{ suspension: 'one', reply: 'approve' }]);
});

test.each([
  ['several questions', [approval, { ...approval, id: 'two' }]],
  ['an answer with fields', [{ ...approval, resumeSchema: { type: 'object' } }]],
  ['data alone', [{ ...approval, allow: ['submit' as const] }]],
])('a request that waits for %s has no plan before the answer', async (_, questions) => {
  const { host, given } = hostOf(questions);
  expect(await planAhead(host, { request: 'r', seq: 9, status: 'suspended' })).toBeNull();
  expect(given).toEqual([]);
});

test('a request that was interrupted is planned without an answer', async () => {
  const { host, given } = hostOf([approval]);
  expect(await planAhead(host, { request: 'r', seq: 9, status: 'interrupted' })).toEqual({ plan, reply: null });
  expect(given).toEqual([{}]);
});
