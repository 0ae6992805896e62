import { expect, test } from 'vitest';
import { answeredWords, callsOf, callWords, detailWords, proposedData, questionWords } from './question';

const asked = (fields: object) => ({ reason: 'approval', message: null, data: null, path: 'root/step:a', ...fields });
const pay = { toolCalls: [{ toolName: 'pay', args: { amount: 45 } }] };

test('an approval of a call says the call', () => {
  const own = 'The call of "pay" waits for your approval';
  expect(questionWords(asked({ message: own, data: pay }))).toBe('Approve pay({ amount: 45 })?');
  expect(questionWords(asked({ message: 'Approve pay(amount: 45)?', data: pay }))).toBe('Approve pay({ amount: 45 })?');
  expect(questionWords(asked({ data: pay }))).toBe('Approve pay({ amount: 45 })?');
  expect(detailWords(asked({ message: own, data: pay }))).toBe('');
});

test('words of the author come first, with the call below them', () => {
  const told = asked({ message: 'Refund order 17?', data: pay });
  expect(questionWords(told)).toBe('Refund order 17?');
  expect(detailWords(told)).toBe('pay({ amount: 45 })');
});

test('a Call shows what it is given, not how it is made', () => {
  const data = { call: { _tool: 'pay', _scopes: ['a'], _outputPath: 'x', amount: 45, to: 'DE02' }, role: 'x' };
  expect(questionWords(asked({ message: 'The call of "pay" waits for your approval', data }))).toBe(
    'Approve pay({ amount: 45, to: "DE02" })?',
  );
});

test('a question without a call is read as it was written', () => {
  expect(questionWords(asked({ reason: 'budget', message: 'How much?' }))).toBe('How much?');
  expect(questionWords(asked({ reason: 'budget' }))).toBe('budget');
  expect(questionWords(asked({}))).toBe('Approve this step?');
  expect(callsOf({ data: { toolCalls: 'no', call: 3 } })).toEqual([]);
});

test.each([
  [undefined, 'f()'],
  [{}, 'f({})'],
  ['a', 'f("a")'],
  [[1, 2], 'f([1, 2])'],
])('the call with %j reads %s', (args, words) => expect(callWords({ name: 'f', args })).toBe(words));

test('long arguments are cut', () => {
  expect(callWords({ name: 'f', args: { text: 'x'.repeat(500) } }, 40)).toHaveLength('f( '.length + 40 + ')'.length);
});

test('an answer is told by what was answered', () => {
  const asked = { reason: 'approval', message: 'Approve pay({ amount: 45 })?', data: null, path: 'root/pay' };
  expect(answeredWords(asked, 'approve')).toBe('Approved: pay({ amount: 45 })');
  expect(answeredWords(asked, 'reject')).toBe('Rejected: pay({ amount: 45 })');
  expect(answeredWords({ ...asked, message: 'Which colour?' }, 'submit')).toBe('Answered: Which colour?');
});

test('an answer with data begins with what is asked about', () => {
  const call = { toolCalls: [{ toolName: 'pay', args: { amount: 45 } }] };
  expect(proposedData({ data: call })).toEqual({ amount: 45 });
  expect(proposedData({ data: { amount: 30, to: 'Ada' } })).toEqual({ amount: 30, to: 'Ada' });
  // An edited Call is checked anew, so it names its tool and its scopes.
  const whole = { _tool: 'pay', amount: 10, _scopes: ['account'] };
  expect(proposedData({ data: { call: whole, scoped: [], role: 'x' } })).toEqual(whole);
  const two = { toolCalls: [...call.toolCalls, { toolName: 'send', args: {} }] };
  expect(proposedData({ data: two })).toBeUndefined();
});
