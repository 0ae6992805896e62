// Schemas that are nothing but a shape: what passes them can be told without asking them.
//
// Must not: take a schema for plain that does more than its shape says, such as a check, a coercion or a
// transform. What is not known to be plain is asked every time.

import { definition, typeOf, type AnySchema } from './schema';

/** A shape, as the engine reads it: a value that fits it passes the schema, and one that does not may. */
export type Plain =
  | 'any'
  | 'null'
  | 'number'
  | 'string'
  | 'boolean'
  | { one: (string | number | boolean | null)[] }
  | { list: Plain }
  | { record: Plain }
  | { or: Plain[] }
  | { fields: Record<string, Plain>; optional: string[] };

/** Deeper shapes are asked. */
const DEEPEST = 8;

export function plainOf(schema: AnySchema | undefined, depth = 0): Plain | undefined {
  if (!schema || depth > DEEPEST) return undefined;
  const def = definition(schema);
  const { checks, coerce, format, error, check } = def as {
    checks?: unknown[];
    coerce?: boolean;
    format?: unknown;
    error?: unknown;
    check?: unknown;
  };
  if (
    (checks?.length ?? 0) > 0 ||
    coerce === true ||
    format !== undefined ||
    error !== undefined ||
    check !== undefined
  )
    return undefined;
  const within = (inner: unknown) => plainOf(inner as AnySchema | undefined, depth + 1);
  switch (typeOf(schema)) {
    case 'any':
    case 'unknown':
      return isAnything(schema) ? 'any' : undefined;
    case 'null':
    case 'number':
    case 'string':
    case 'boolean':
      return typeOf(schema) as Plain;
    case 'optional':
    case 'default':
    case 'readonly':
      return within(def.innerType);
    case 'nullable': {
      const inner = within(def.innerType);
      return inner && { or: ['null', inner] };
    }
    case 'literal':
      return one((def.values as unknown[] | undefined) ?? [def.value]);
    case 'enum':
      // The enums of TypeScript also list their numbers' names.
      return one(
        Array.isArray(def.values) ? def.values : Object.values((def.entries as object | undefined) ?? {}),
        'string',
      );
    case 'array': {
      if (def.minLength || def.maxLength || def.exactLength) return undefined;
      // zod 3 has the element where zod 4 has its kind.
      const element = within(typeof def.element === 'object' ? def.element : def.type);
      return element && { list: element };
    }
    case 'record': {
      const value = within(def.valueType);
      return value && within(def.keyType) === 'string' ? { record: value } : undefined;
    }
    case 'union': {
      const options = (def.options as unknown[]).map(within);
      return options.every((option) => option !== undefined) ? { or: options as Plain[] } : undefined;
    }
    case 'object':
      return fields(def, within);
    default:
      return undefined;
  }
}

/** Whether a schema says that anything passes; one that nobody can read is not one of those. */
function isAnything(schema: AnySchema): boolean {
  const { typeName, type } = definition(schema);
  return typeName === 'ZodAny' || typeName === 'ZodUnknown' || type === 'any' || type === 'unknown';
}

function one(values: unknown[], only?: string): Plain | undefined {
  const isPlain = (value: unknown) =>
    only ? typeof value === only : value === null || ['string', 'number', 'boolean'].includes(typeof value);
  return values.length > 0 && values.every(isPlain) ? { one: values as string[] } : undefined;
}

function fields(def: Record<string, unknown>, within: (inner: unknown) => Plain | undefined): Plain | undefined {
  const { unknownKeys, catchall, shape } = def as { unknownKeys?: unknown; catchall?: AnySchema; shape: unknown };
  if (unknownKeys === 'strict' || (catchall && !isAnything(catchall) && !(unknownKeys && typeOf(catchall) === 'never')))
    return undefined;
  const inside = (typeof shape === 'function' ? (shape as () => unknown)() : shape) as Record<string, AnySchema>;
  const known: Record<string, Plain> = {};
  for (const [name, schema] of Object.entries(inside)) {
    const plain = within(schema);
    if (plain === undefined || name === '__proto__') return undefined;
    known[name] = plain;
  }
  const optional = Object.keys(inside).filter((name) =>
    ['optional', 'default'].includes(typeOf(inside[name] as AnySchema)),
  );
  return { fields: known, optional };
}
