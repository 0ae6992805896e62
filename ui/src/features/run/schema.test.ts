import { expect, test } from 'vitest';
import { fieldOf, type Field } from './schema';

const only = (field: Field | undefined, ...keys: (keyof Field)[]) =>
  Object.fromEntries(keys.map((key) => [key, field?.[key]]));
const named = (field: Field, name: string) => field.fields?.find((one) => one.name === name)?.field;

test.each([
  [{ type: 'string' }, 'text'],
  [{ type: 'number' }, 'number'],
  [{ type: 'integer' }, 'integer'],
  [{ type: 'boolean' }, 'boolean'],
  [{ enum: ['a', 'b'] }, 'choice'],
  [{ const: 'a' }, 'choice'],
  [{ type: 'array', items: { type: 'string' } }, 'list'],
  [{ type: 'object', properties: {} }, 'group'],
  [{ type: 'object', additionalProperties: { type: 'string' } }, 'record'],
  [{ type: 'object' }, 'json'],
  [{}, 'json'],
  [true, 'json'],
  [undefined, 'json'],
  [{ type: 'null' }, 'null'],
  [{ type: 'array', items: [{ type: 'string' }] }, 'json'],
  [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, 'json'],
  [{ anyOf: [{ const: 'a' }, { const: 'b' }] }, 'choice'],
])('%o is a %s field', (schema, kind) => expect(fieldOf(schema).kind).toBe(kind));

test('null is taken out of unions', () => {
  for (const schema of [
    { anyOf: [{ type: 'string' }, { type: 'null' }] },
    { type: ['string', 'null'] },
    { type: 'string', nullable: true },
  ]) {
    expect(only(fieldOf(schema), 'kind', 'nullable')).toEqual({ kind: 'text', nullable: true });
  }
});

test('an object says which of its fields are needed, and their limits', () => {
  const field = fieldOf({
    type: 'object',
    required: ['n'],
    properties: {
      n: { type: 'integer', minimum: 1, exclusiveMaximum: 9, default: 3, description: 'How many.' },
      tags: { type: 'array', items: { type: 'string' }, minItems: 1 },
    },
  });
  expect(only(named(field, 'n'), 'required', 'least', 'most', 'mostOpen', 'fallback', 'description')).toEqual({
    required: true,
    least: 1,
    most: 9,
    mostOpen: true,
    fallback: 3,
    description: 'How many.',
  });
  expect(only(named(field, 'tags'), 'required', 'least')).toEqual({ required: false, least: 1 });
});

test('references and allOf are followed', () => {
  const field = fieldOf({
    definitions: { Name: { type: 'string', minLength: 2 } },
    allOf: [
      { type: 'object', properties: { a: { $ref: '#/definitions/Name' } } },
      { properties: { b: { type: 'boolean' } }, required: ['b'] },
    ],
  });
  expect(field.fields?.map((one) => one.name)).toEqual(['a', 'b']);
  expect(only(named(field, 'a'), 'kind', 'least')).toEqual({ kind: 'text', least: 2 });
  expect(named(field, 'b')?.required).toBe(true);
});

test('a schema that contains itself ends', () => {
  const tree = {
    $ref: '#/definitions/Node',
    definitions: { Node: { type: 'object', properties: { child: { $ref: '#/definitions/Node' } } } },
  };
  expect(JSON.stringify(fieldOf(tree)).length).toBeLessThan(10_000);
});

test('a bare string is a text to write in', () => expect(fieldOf({ type: 'string' }).multiline).toBe(true));
