import { expect, test } from 'vitest';
import { budgetOf } from '../../model/budget';
import { newDraft, newScore, queryOf, scoreOf, valuesOf, type Draft, type PromptDraft, type Wrong } from './draft';

const TARGET = { request: 'req_1', at: 'root/step:ask#0' };
const RECORDED = 'Answer in one sentence.';
const ask = (more: Partial<Draft>) => queryOf({ ...newDraft(), ...more }, TARGET, RECORDED);
const wrongOf = (more: Partial<Draft>) => ask(more).wrong;

test('an untouched draft samples what was recorded', () => {
  const { query, wrong } = ask({});
  expect(wrong).toEqual({});
  expect(query).toEqual({
    ...TARGET,
    models: [],
    prompts: [],
    parameters: [],
    set: [],
    outputs: [],
    code: [],
    samples: 3,
    score: null,
    budget: null,
    modelsBy: 'asRecorded',
    jobs: null,
  });
});

test('models are one a line, without empty lines and without the same one twice', () => {
  expect(ask({ models: ' a/b \n\n c\na/b' }).query.models).toEqual(['a/b', 'c']);
});

test('values are JSON, with commas or new lines between them', () => {
  expect(valuesOf('0, 0.7, 1')).toEqual([0, 0.7, 1]);
  expect(valuesOf('"strict"\n{ "a": [1, 2] }')).toEqual(['strict', { a: [1, 2] }]);
  expect(valuesOf('  ')).toEqual([]);
  expect(() => valuesOf('strict')).toThrow('strict is not JSON. A text needs quotation marks.');
});

test('what is wrong is said at its field', () => {
  expect(wrongOf({ samples: '0' })).toEqual({ samples: 'Type a whole number from 1 to 10,000.' });
  expect(wrongOf({ samples: '1.5' })).toHaveProperty('samples');
  expect(wrongOf({ samples: '10001' })).toHaveProperty('samples');
  expect(wrongOf({ set: [{ name: 'session.mode', values: 'strict' }] })['set 0']).toContain('quotation marks');
  expect(wrongOf({ set: [{ name: '', values: '1' }] })).toEqual({ 'set 0 name': 'Type the path of a value in state.' });
  const twice = [
    { name: 'temperature', values: '0' },
    { name: 'temperature ', values: '1' },
  ];
  expect(wrongOf({ parameters: twice })['parameter 1 name']).toContain('twice');
  expect(wrongOf({ parameters: [{ name: 'top_p', values: '' }] })).toEqual({
    'parameter 0': 'Type at least one value.',
  });
  expect(wrongOf({ outputs: '{ eur: 1 }' })).toHaveProperty('outputs');
});

test('a prompt has a name of its own and another text than the recorded one', () => {
  expect(wrongOf({ prompts: [{ field: 'prompt', name: 'a', text: RECORDED }] })['prompt 0']).toContain('recorded');
  expect(wrongOf({ prompts: [{ field: 'prompt', name: ' ', text: 'x' }] })).toHaveProperty('prompt 0 name');
  const same: PromptDraft[] = [
    { field: 'prompt', name: 'a', text: 'x' },
    { field: 'prompt', name: 'a', text: 'y' },
  ];
  expect(wrongOf({ prompts: same })).toEqual({ 'prompt 1 name': 'Another prompt has this name.' });
  // Another field is another axis.
  expect(wrongOf({ prompts: same.map((one, n) => (n === 0 ? one : { ...one, field: 'user' })) })).toEqual({});
  expect(ask({ prompts: [{ field: 'prompt', name: 'short', text: 'Be short.' }] }).query.prompts).toEqual([
    { field: 'prompt', name: 'short', text: 'Be short.' },
  ]);
});

test('what the engine would refuse together is refused here', () => {
  expect(wrongOf({ outputs: '1', models: 'a' }).outputs).toContain('does not run');
  expect(wrongOf({ code: 'HEAD~1', prompts: [{ field: 'user', name: 'a', text: 'x' }] })).toEqual({});
  expect(wrongOf({ code: 'HEAD~1', models: 'a' })).toEqual({});
});

test('a budget is one of three units', () => {
  const wrong: Wrong = {};
  expect(budgetOf({ amount: '', unit: 'usd' }, wrong)).toBeNull();
  expect(budgetOf({ amount: '50', unit: 'calls' }, wrong)).toEqual({ calls: 50 });
  expect(budgetOf({ amount: '20000', unit: 'tokens' }, wrong)).toEqual({ tokens: 20000 });
  expect(budgetOf({ amount: '0.5', unit: 'usd' }, wrong)).toEqual({ usd: 0.5 });
  expect(wrong).toEqual({});
  for (const [amount, unit] of [
    ['0', 'calls'],
    ['0.5', 'tokens'],
    ['0', 'usd'],
    ['much', 'usd'],
  ] as const) {
    const found: Wrong = {};
    budgetOf({ amount, unit }, found);
    expect(found).toHaveProperty('budget');
  }
});

test('each kind of score is what the engine takes', () => {
  const wrong: Wrong = {};
  const score = (more: object) => scoreOf({ ...newScore(), ...more }, wrong);
  expect(score({ expression: ' output.eur <= 100 ' })).toEqual({ expression: 'output.eur <= 100' });
  expect(score({ kind: 'block', block: 'my.judge.rate' })).toEqual({ block: { flow: 'my.judge', action: 'rate' } });
  expect(score({ kind: 'command', command: 'python3 s.py' })).toEqual({ command: 'python3 s.py' });
  expect(score({ kind: 'schema', schema: '{"type":"object"}' })).toEqual({
    schema: { name: 'schema', schema: { type: 'object' } },
  });
  expect(score({ kind: 'model', model: 'm', prompt: 'Good?' })).toEqual({
    model: { model: 'm', prompt: { name: 'prompt', text: 'Good?' } },
  });
  expect(wrong).toEqual({});
  for (const kind of ['block', 'command', 'schema', 'model'] as const) {
    const found: Wrong = {};
    scoreOf({ ...newScore(), kind }, found);
    expect(found).toHaveProperty('score');
  }
});
