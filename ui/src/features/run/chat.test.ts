import { expect, test } from 'vitest';
import { chatAction, chatTextOf, inputOf, textIn } from './chat';
import { fieldOf } from './schema';

const object = (properties: object, required: string[] = []) => fieldOf({ type: 'object', properties, required });
const text = { type: 'string' };

test('an action that asks for one text is talked to', () => {
  expect(chatTextOf(fieldOf(text))).toEqual({ name: null, label: 'input' });
  expect(chatTextOf(object({ topic: text, depth: { type: 'integer' } }, ['topic']))?.name).toBe('topic');
  expect(chatTextOf(object({ note: text, message: text }))?.name).toBe('message');
  expect(chatTextOf(object({ content: text, tone: { ...text, default: 'dry' } }, ['content', 'tone']))?.name).toBe(
    'content',
  );
});

test('any other action has a form', () => {
  expect(chatTextOf(object({ id: text, amount: { type: 'number' } }, ['id', 'amount']))).toBeNull();
  expect(chatTextOf(object({ amount: { type: 'number' } }, ['amount']))).toBeNull();
  expect(chatTextOf(object({ when: { ...text, format: 'date' } }, ['when']))).toBeNull();
  expect(chatTextOf(object({ first: text, second: text }))).toBeNull();
  expect(chatTextOf(fieldOf(undefined))).toBeNull();
  expect(chatTextOf(fieldOf({ enum: ['a', 'b'] }))).toBeNull();
});

test('the text is put into the input, and read from one', () => {
  const field = object({ content: text, tone: { ...text, default: 'dry' } }, ['content']);
  const chat = chatTextOf(field) ?? { name: null, label: '' };
  expect(inputOf(field, chat, '__proto__')).toEqual({ content: '__proto__', tone: 'dry' });
  expect(textIn({ content: 'hi' }, chat)).toBe('hi');
  expect([textIn({ content: 5 }, chat), textIn(null, chat), textIn('x', chat)]).toEqual([null, null, null]);
  expect([inputOf(fieldOf(text), { name: null, label: '' }, 'a'), textIn('a', { name: null, label: '' })]).toEqual([
    'a',
    'a',
  ]);
});

test('a session goes on with the action that was talked to last, also after another action ran', () => {
  const ask = { name: 'ask', inputSchema: text };
  const say = { name: 'say', inputSchema: text };
  const recall = { name: 'recall', inputSchema: { type: 'object', properties: {} } };
  const actions = [recall, ask, say];
  const ran = (...names: string[]) => names.map((action) => ({ action }));
  expect(chatAction(actions, null, ran('ask', 'say', 'recall'))?.name).toBe('say');
  expect(chatAction(actions, 'recall', ran('ask'))?.name).toBe('recall');
  expect(chatAction(actions, null, ran('recall'))?.name).toBe('recall');
  expect(chatAction(actions, null, ran('gone'))?.name).toBe('ask');
  expect(chatAction([], null, ran('ask'))).toBeNull();
});
