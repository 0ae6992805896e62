import { expect, test } from 'vitest';
import { shellWord } from '../../base/shell';
import { answersOf, questionsAt } from './approval';
import { factsOf, parametersOf, planOf, referencesOf, rolesOf } from './plan';
import type { SuspensionRow } from '../../host/host';

const facts = (plan: Record<string, unknown>) => Object.fromEntries(factsOf(plan).map((one) => [one.testid, one.text]));

test('roles and scopes are said in words', () => {
  const plan = {
    call: { _tool: 'pay', amount: 4, _outputMethod: 'push' },
    role: 'delegated explicit',
    activity: 'pay',
    delegate: 'bank',
    instance: 'A',
    scopes: { mode: 'dynamic', kinds: ['state'], allowed: ['state', 'input'] },
    outputPath: ['†list', '†data.list'],
    references: [{ at: 'amount', reference: '†state.price', value: 4 }, 'no reference'],
  };
  expect(rolesOf(plan)).toEqual(['delegated', 'explicit', 'instanced']);
  expect(facts(plan)).toMatchObject({
    'call-instance': 'A',
    'call-scopes': 'state — dynamic: the model chose them',
    'call-allowed': 'state, input',
    'call-output-path': '†list, †data.list (push)',
  });
  expect(parametersOf(plan)).toEqual({ amount: 4 });
  expect(referencesOf(plan)).toEqual([{ at: 'amount', reference: '†state.price', value: 4 }]);
  expect(facts({ role: 'latent', scopes: { mode: 'none', kinds: [] } })).toEqual({
    'call-maker': 'the model, in the same solution',
    'call-scopes': 'none: it sees nothing',
    'call-output-path': 'nowhere: it has no _outputPath',
  });
  expect(facts(planOf('of a shape that is not known'))).toEqual({});
});

test('of alternatives the Call’s own words say how they are joined', () => {
  const plan = { call: { _outputPath: '†state.a || †state.b' }, scopes: {}, outputPath: ['†state.a', '†state.b'] };
  expect(facts(plan)['call-output-path']).toBe('†state.a || †state.b (set)');
});

const row = (more: Partial<SuspensionRow>): SuspensionRow => ({
  id: 's1',
  requestId: 'r',
  sessionId: 's',
  path: 'root',
  seq: 10,
  reason: 'approval',
  allow: [],
  status: 'approved',
  createdAt: 100,
  resolvedAt: 200,
  resolvedBy: 'ada',
  ...more,
});

test('a question is open until the instant at which it was answered', () => {
  const asked = [row({}), row({ id: 's2', seq: 20, status: 'pending', resolvedAt: null, resolvedBy: null })];
  expect(questionsAt(asked, 9, 90)).toEqual([]);
  expect(questionsAt(asked, 15, 150).map((one) => [one.id, one.status, one.by])).toEqual([['s1', 'pending', '']]);
  expect(questionsAt(asked, 30, null).map((one) => [one.id, one.status, one.by])).toEqual([
    ['s2', 'pending', ''],
    ['s1', 'approved', 'ada'],
  ]);
});

test('the command lines can be pasted into a shell', () => {
  expect(shellWord('a-b/c.db')).toBe('a-b/c.db');
  expect(shellWord("it's $(rm -r ~)")).toBe("'it'\\''s $(rm -r ~)'");
  expect(shellWord('')).toBe("''");
  const [question] = questionsAt([row({ status: 'pending', data: { call: { _tool: 'pay' } } })], 30, null);
  if (!question) throw new Error('a question');
  const place = { request: 'r', dir: '/home/a b', dataFile: '/home/a b/.flowglass/flowglass.db' };
  const which = "--suspension s1 --dir '/home/a b'";
  expect(answersOf(question, place).map((one) => one.line)).toEqual([
    `flowglass resume r --approve ${which}`,
    `flowglass resume r --reject --reason 'why not' ${which}`,
    `flowglass resume r --submit '{"_tool":"pay"}' ${which}`,
  ]);
  const other = answersOf({ ...question, data: { call: { a: 'x'.repeat(999) } } }, { ...place, dataFile: '/d.db' });
  expect(other.map((one) => one.line)[2]).toBe(`flowglass resume r --submit @call.json ${which} --data=/d.db`);
});
