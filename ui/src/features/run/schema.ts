// A JSON Schema as the fields of a form. What a form cannot say becomes a JSON field, so that no schema locks anyone out.
// Pure; it neither validates nor holds values.
import { isRecord } from '../../base/json';

export type FieldKind =
  'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'list' | 'group' | 'record' | 'null' | 'json';

export type Field = {
  kind: FieldKind;
  label: string;
  description: string;
  required: boolean;
  nullable: boolean;
  fallback?: unknown;
  choices?: unknown[];
  /** A list's entry or a record's value. */
  each?: Field;
  fields?: { name: string; field: Field }[];
  least?: number;
  most?: number;
  /** Whether `least` and `most` themselves are already too little and too much. */
  leastOpen?: boolean;
  mostOpen?: boolean;
  pattern?: string;
  format?: string;
  multiline?: boolean;
};

/** A yes-or-no without a third state is a box to tick; every other one needs words for all it can be. */
export const isBox = (field: Field, value: unknown): boolean =>
  field.kind === 'boolean' &&
  (field.required || field.fallback !== undefined) &&
  (value === undefined || typeof value === 'boolean');

type Schema = Record<string, unknown>;
const DEEPEST = 12;

export function fieldOf(schema: unknown, label = 'input', required = true): Field {
  return read(schema, label, required, isRecord(schema) ? schema : {}, 0);
}

function read(given: unknown, label: string, required: boolean, root: Schema, depth: number): Field {
  const { schema, nullable } = settle(given, root, 0);
  const field: Field = {
    kind: 'json',
    label: text(schema.title) || label,
    description: text(schema.description),
    required,
    nullable,
  };
  if ('default' in schema) field.fallback = schema.default;
  if (depth > DEEPEST) return field;

  const choices = choicesOf(schema);
  if (choices) return { ...field, kind: 'choice', choices };
  switch (typeOf(schema)) {
    case 'string':
      return {
        ...field,
        kind: 'text',
        least: number(schema.minLength),
        most: number(schema.maxLength),
        pattern: text(schema.pattern) || undefined,
        format: text(schema.format) || undefined,
        multiline: isLong(schema, label, depth),
      };
    case 'number':
    case 'integer':
      return { ...field, kind: schema.type === 'integer' ? 'integer' : 'number', ...limits(schema) };
    case 'boolean':
      return { ...field, kind: 'boolean' };
    case 'null':
      return { ...field, kind: 'null', nullable: true };
    case 'array': {
      // A tuple has a schema for each place; a form of equal rows cannot say that.
      if (Array.isArray(schema.items) || schema.prefixItems) return field;
      const each = read(schema.items ?? {}, 'entry', true, root, depth + 1);
      return { ...field, kind: 'list', each, least: number(schema.minItems), most: number(schema.maxItems) };
    }
    case 'object': {
      const properties = isRecord(schema.properties) ? schema.properties : {};
      const names = Object.keys(properties);
      const needed = new Set(Array.isArray(schema.required) ? schema.required : []);
      if (names.length === 0 && schema.additionalProperties !== undefined && schema.additionalProperties !== false) {
        return { ...field, kind: 'record', each: read(schema.additionalProperties, 'value', true, root, depth + 1) };
      }
      if (names.length === 0 && schema.properties === undefined) return field;
      const fields = names.map((name) => ({
        name,
        field: read(properties[name], name, needed.has(name), root, depth + 1),
      }));
      return { ...field, kind: 'group', fields };
    }
    default:
      return field;
  }
}

/** Follows references, merges `allOf`, and takes null out of unions, until one plain schema is left. */
function settle(given: unknown, root: Schema, depth: number): { schema: Schema; nullable: boolean } {
  if (!isRecord(given) || depth > DEEPEST) return { schema: {}, nullable: false };
  if (typeof given.$ref === 'string') {
    const { $ref, ...beside } = given;
    const found = settle(target(String($ref), root), root, depth + 1);
    return { schema: { ...found.schema, ...beside }, nullable: found.nullable };
  }
  if (Array.isArray(given.allOf)) {
    const { allOf, ...own } = given;
    const parts = (allOf as unknown[]).map((part) => settle(part, root, depth + 1));
    return {
      schema: [...parts.map((part) => part.schema), own].reduce(merge, {}),
      nullable: given.nullable === true || (parts.length > 0 && parts.every((part) => part.nullable)),
    };
  }
  const union = (given.anyOf ?? given.oneOf) as unknown;
  if (Array.isArray(union)) {
    const real = union.filter((one) => !(isRecord(one) && one.type === 'null'));
    const { anyOf: _anyOf, oneOf: _oneOf, ...own } = given;
    const nullable = real.length < union.length;
    if (real.length === 1) {
      const found = settle(real[0], root, depth + 1);
      return { schema: { ...found.schema, ...own }, nullable: nullable || found.nullable };
    }
    const words = real.map((one) => settle(one, root, depth + 1).schema);
    const choices = words.map(choicesOf);
    if (choices.every((list) => list !== null)) return { schema: { ...own, enum: choices.flat() }, nullable };
    return { schema: own, nullable };
  }
  if (Array.isArray(given.type)) {
    const types = given.type.filter((one) => one !== 'null');
    const nullable = types.length < given.type.length;
    const { type: _type, ...rest } = given;
    return { schema: types.length === 1 ? { ...rest, type: types[0] } : rest, nullable };
  }
  return { schema: given, nullable: given.nullable === true };
}

function merge(a: Schema, b: Schema): Schema {
  const both: Schema = { ...a, ...b };
  if (isRecord(a.properties) && isRecord(b.properties)) both.properties = { ...a.properties, ...b.properties };
  if (Array.isArray(a.required) && Array.isArray(b.required)) both.required = [...a.required, ...b.required];
  return both;
}

function target(ref: string, root: Schema): unknown {
  if (!ref.startsWith('#')) return {};
  let at: unknown = root;
  for (const step of ref.slice(1).split('/').filter(Boolean)) {
    if (!isRecord(at)) return {};
    at = at[decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return at;
}

function choicesOf(schema: Schema): unknown[] | null {
  if (Array.isArray(schema.enum)) return schema.enum;
  return 'const' in schema ? [schema.const] : null;
}

function typeOf(schema: Schema): string {
  if (typeof schema.type === 'string') return schema.type;
  if (isRecord(schema.properties)) return 'object';
  return schema.items !== undefined ? 'array' : '';
}

function limits(schema: Schema): Partial<Field> {
  // Draft 4 marks an open limit with a boolean beside it, later drafts with a number of its own.
  const over = schema.exclusiveMinimum === true ? number(schema.minimum) : number(schema.exclusiveMinimum);
  const under = schema.exclusiveMaximum === true ? number(schema.maximum) : number(schema.exclusiveMaximum);
  return {
    least: over ?? number(schema.minimum),
    most: under ?? number(schema.maximum),
    leastOpen: over !== undefined,
    mostOpen: under !== undefined,
  };
}

const LONG_NAMES = /message|prompt|text|body|content|question|description|instructions|notes/i;
const isLong = (schema: Schema, label: string, depth: number) =>
  depth === 0 || (number(schema.maxLength) ?? 0) > 200 || (!schema.format && LONG_NAMES.test(label));
const text = (value: unknown) => (typeof value === 'string' ? value : '');
const number = (value: unknown) => (typeof value === 'number' ? value : undefined);
