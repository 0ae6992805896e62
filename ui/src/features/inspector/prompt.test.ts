import { expect, test } from 'vitest';
import type { ModelCallRow } from '../../host/host';
import { curlOf, messagesOf, replyOf, sourceWords } from './prompt';

const call = (more: Partial<ModelCallRow> = {}): ModelCallRow => ({
  seq: 8,
  effect: 'model',
  ordinal: 0,
  startedAt: 0,
  memoized: false,
  model: 'gpt-5-mini',
  parameters: {},
  sources: [{ from: 'system' }, { from: 'history', requestId: 'r1', seq: 4 }, { from: 'tool', seq: 5, id: 'c1' }],
  tools: [],
  streamed: [],
  retries: [],
  request: {
    messages: [
      { role: 'system', content: "Don't guess." },
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'add', args: { a: 1 } }] },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'c1', toolName: 'add', output: { type: 'json', value: 3 } }],
      },
    ],
    tools: [{ name: 'add', description: 'Adds', parameters: { type: 'object' } }],
  },
  ...more,
});

test('messages are texts with where they come from', () => {
  const messages = messagesOf(call());
  expect(messages.map((one) => one.text)).toEqual(["Don't guess.", 'add({a: 1})', 'add → 3']);
  const words = messages.map((one) => sourceWords(one.source, 'helper', 'r2'));
  expect(words).toEqual(['prompt of helper', 'earlier request, item #4', 'result for #5']);
});

test('where a text is whole is known, also if it came as a list of one part', () => {
  const contents = ['a', [{ type: 'text', text: 'a' }], [{ type: 'text', text: 'a' }, { type: 'image' }], []];
  const messages = contents.map((content) => ({ role: 'user', content }));
  expect(messagesOf(call({ request: { messages } })).map((one) => one.textAt)).toEqual(['', '/0/text', null, null]);
});

test('a reply grows by its pieces until it is whole', () => {
  const streamed = [
    { ms: 3, text: 'Hm. ', reasoning: true },
    { ms: 5, text: 'A pale', reasoning: false },
    { ms: 9, text: ' roof', reasoning: false },
  ];
  expect(replyOf(call({ streamed }))).toMatchObject({ text: 'A pale roof', reasoning: 'Hm. ' });
  expect(replyOf(call({ streamed, result: { text: 'A pale roof.' } })).text).toBe('A pale roof.');
});

test('curl holds no key, and no quote of a text ends its argument', () => {
  const curl = curlOf(call());
  expect(curl).toContain('-H "Authorization: Bearer $OPENAI_API_KEY"');
  expect(curl).toContain(`Don'\\''t guess.`);
  expect(curl).toContain('"tool_call_id": "c1"');
  expect(curlOf(call({ model: 'claude-sonnet' }))).toContain('x-api-key: $ANTHROPIC_API_KEY');
});
