import { expect, test } from 'vitest';
import type { BlockDetail } from '../host/host';
import { recordedCall } from './recorded-call';

const detail = (call: object) => ({ modelCalls: [call] }) as unknown as BlockDetail;

test('the first call tells its model, its prompt and its parameters', () => {
  const found = recordedCall(
    detail({
      model: 'openai/gpt-5-mini',
      request: {
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'system', content: 'Be short.' },
        ],
      },
      sources: [{ from: 'user' }, { from: 'system' }],
      parameters: { step: 0, maxTokens: 200, providerOptions: { temperature: 0.2, nested: { a: 1 } }, tools: [] },
    }),
  );
  expect(found).toEqual({
    model: 'openai/gpt-5-mini',
    prompt: 'Be short.',
    parameters: [
      ['maxTokens', 200],
      ['temperature', 0.2],
    ],
  });
});

test('a block without a call, or without a prompt, has none', () => {
  const nothing = { model: null, prompt: null, parameters: [] };
  expect(recordedCall(null)).toEqual(nothing);
  expect(recordedCall({ modelCalls: [] } as unknown as BlockDetail)).toEqual(nothing);
  expect(recordedCall(detail({ model: 'm', request: null, sources: [], parameters: null }))).toEqual({
    ...nothing,
    model: 'm',
  });
});
