import { expect, test } from 'vitest';
import type { Item } from '../host/host';
import { modelOf, restOf } from './item';

const message = (model: unknown) => ({ type: 'message', role: 'assistant', content: 'Hi', model }) as unknown as Item;

test('the model that said a message is a word of its head, and no payload', () => {
  const same = message({ requested: 'gpt-5-mini', actual: 'gpt-5-mini' });
  expect([modelOf(same), restOf(same)]).toEqual(['gpt-5-mini', null]);
  expect(modelOf(message({ requested: 'fast', actual: 'gpt-5-mini' }))).toBe('gpt-5-mini, asked for fast');
});

test('what says more of a model stays in the payload', () => {
  const more = { requested: 'a', actual: 'a', region: 'eu' };
  expect([modelOf(message(more)), restOf(message(more))]).toEqual([null, { model: more }]);
  expect(modelOf(message(undefined))).toBeNull();
});
