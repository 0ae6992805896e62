import { expect, test } from 'vitest';
import { check, samePath, startOf } from './check';
import { fieldOf } from './schema';

const plan = fieldOf({
  type: 'object',
  required: ['topic', 'depth', 'loud', 'tags', 'tone'],
  properties: {
    topic: { type: 'string', minLength: 2 },
    depth: { type: 'integer', minimum: 1, maximum: 5, default: 2 },
    loud: { type: 'boolean' },
    tags: { type: 'array', items: { type: 'string' } },
    tone: { enum: ['plain', 'formal'] },
    when: { type: ['string', 'null'] },
    budget: { type: 'object', required: ['amount'], properties: { amount: { type: 'number' } } },
  },
});
const good = { topic: 'bees', depth: 2, loud: false, tags: [], tone: 'plain' };

test('a form starts with defaults and with what cannot be left out', () => {
  expect(startOf(plan)).toEqual({ depth: 2, loud: false, tags: [] });
  expect(startOf(fieldOf({ type: 'string' }))).toBeUndefined();
  expect(startOf(fieldOf({ const: 'only' }))).toBe('only');
});

test('a good value has no problems', () => expect(check(plan, good)).toEqual([]));

test.each([
  [{ ...good, topic: undefined }, 'topic', 'Required.'],
  [{ ...good, topic: 'b' }, 'topic', 'Needs at least 2 characters.'],
  [{ ...good, depth: 2.5 }, 'depth', 'Must be a whole number.'],
  [{ ...good, depth: 'x' }, 'depth', 'Must be a number.'],
  [{ ...good, depth: 6 }, 'depth', 'Must be at most 5.'],
  [{ ...good, loud: 'yes' }, 'loud', 'Must be true or false.'],
  [{ ...good, tags: ['a', 1] }, 'tags[1]', 'Must be a text.'],
  [{ ...good, tone: 'rude' }, 'tone', 'Choose one of plain, formal.'],
  [{ ...good, topic: null }, 'topic', 'Must not be null.'],
  [{ ...good, budget: {} }, 'budget.amount', 'Required.'],
  ['text', '', 'Must be an object.'],
])('%o is refused at %s', (value, path, message) => expect(check(plan, value)).toEqual([{ path, message }]));

test('null is a value where it is allowed', () => expect(check(plan, { ...good, when: null })).toEqual([]));

test('a pattern that cannot be read stops nobody', () => {
  expect(check(fieldOf({ type: 'string', pattern: '(' }), 'x')).toEqual([]);
  expect(check(fieldOf({ type: 'string', pattern: '^a' }), 'x')).toHaveLength(1);
});

test('paths of the other side are read in any spelling', () => {
  expect(['tags.1', '/tags/1', 'tags[1]', '$.tags[1]'].map(samePath)).toEqual(Array(4).fill('tags[1]'));
});
