import { expect, test } from 'vitest';
import type { Item } from '../host/host';
import { modelOf, restOf } from './item';

const message = (model: unknown) => ({ type: 'message', role: 'assistant', content: 'Hi', model }) as unknown as Item;

test('the model of a message is part of its head, not of its payload', () => {
  const same = message({ requested: 'gpt-5-mini', actual: 'gpt-5-mini' });
  expect([modelOf(same), restOf(same)]).toEqual(['gpt-5-mini', null]);
  expect(modelOf(message({ requested: 'fast', actual: 'gpt-5-mini' }))).toBe('gpt-5-mini, asked for fast');
});

test('further details of a model stay in the payload', () => {
  const more = { requested: 'a', actual: 'a', region: 'eu' };
  expect([modelOf(message(more)), restOf(message(more))]).toEqual([null, { model: more }]);
  expect(modelOf(message(undefined))).toBeNull();
});
