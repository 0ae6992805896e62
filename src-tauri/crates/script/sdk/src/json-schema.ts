// A zod schema as JSON Schema: for forms, for models, and for telling declarations apart.

import { definition, inside, shapeOf, typeOf, type AnySchema, type Definition } from './schema';

type JsonSchema = Record<string, unknown>;

/** JSON Schema (draft 7) of what may be put in: for forms, models, and telling declarations apart. */
export function describe(schema: AnySchema, depth = 0): JsonSchema {
  // A schema that contains itself ends here; a form shows raw JSON from that level on.
  if (depth > 24) return {};
  const described = shapeFor(schema, depth);
  const words = schema.description;
  return words && described.description === undefined ? { ...described, description: words } : described;
}

function shapeFor(schema: AnySchema, depth: number): JsonSchema {
  const def = definition(schema);
  const go = (inner: unknown): JsonSchema => describe(inner as AnySchema, depth + 1);
  switch (typeOf(schema)) {
    case 'string':
      return { type: 'string', ...limits(schema, 'minLength', 'maxLength') };
    case 'number':
    case 'int':
      return { type: isInteger(schema) ? 'integer' : 'number', ...limits(schema, 'minimum', 'maximum') };
    case 'boolean':
      return { type: 'boolean' };
    case 'date':
      return { type: 'string', format: 'date-time' };
    case 'null':
      return { type: 'null' };
    case 'literal': {
      const values = (def.values as unknown[] | undefined) ?? [def.value];
      return values.length === 1 ? { const: values[0] } : { enum: values };
    }
    case 'enum':
    case 'nativeenum':
      return { type: 'string', enum: enumValues(def) };
    case 'array':
      return { type: 'array', items: go(def.element ?? def.type), ...limits(schema, 'minItems', 'maxItems') };
    case 'tuple':
      return { type: 'array', items: (def.items as unknown[]).map(go) };
    case 'set':
      return { type: 'array', uniqueItems: true };
    case 'object':
      return objectShape(schema, go);
    case 'record':
      return { type: 'object', additionalProperties: go(def.valueType) };
    case 'union':
    case 'discriminatedunion': {
      const options = def.options as unknown[] | Map<string, unknown>;
      return { anyOf: [...options.values()].map(go) };
    }
    case 'intersection':
      return { allOf: [go(def.left), go(def.right)] };
    case 'nullable':
      return { anyOf: [go(def.innerType), { type: 'null' }] };
    case 'default':
    case 'prefault': {
      const given = def.defaultValue;
      const value: unknown = typeof given === 'function' ? (given as () => unknown)() : given;
      return { ...go(def.innerType), default: value };
    }
    default: {
      const inner = inside(schema);
      return inner ? go(inner) : {};
    }
  }
}

function objectShape(schema: AnySchema, go: (inner: unknown) => JsonSchema): JsonSchema {
  const shape = shapeOf(schema) ?? {};
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  for (const name of Object.keys(shape)) {
    properties[name] = go(shape[name]);
    if (!(shape[name] as AnySchema).safeParse(undefined).success) required.push(name);
  }
  const described: JsonSchema = { type: 'object', properties };
  if (required.length > 0) described.required = required;
  return described;
}

function enumValues(def: Definition): unknown[] {
  if (Array.isArray(def.values)) return def.values as unknown[];
  const entries = (def.entries ?? def.values ?? {}) as Record<string, unknown>;
  // A numeric TypeScript enum also maps its numbers back to names; those keys are not values.
  return Object.keys(entries).filter((key) => Number.isNaN(Number(key))).map((key) => entries[key]);
}

interface Check {
  kind?: string;
  value?: unknown;
  inclusive?: boolean;
  regex?: RegExp;
  /** Where zod 4 keeps it. */
  _zod?: { def?: { check?: string; format?: string; pattern?: RegExp } };
}

const FORMATS: Record<string, string> = { email: 'email', url: 'uri', uuid: 'uuid', guid: 'uuid', datetime: 'date-time', date: 'date' };

function isInteger(schema: AnySchema): boolean {
  const def = definition(schema);
  const checks = (def.checks ?? []) as Check[];
  if (typeOf(schema) === 'int' || String(def.format ?? '').includes('int')) return true;
  return checks.some((check) => check.kind === 'int' || String(check._zod?.def?.format ?? '').includes('int'));
}

/** What zod 3 and 4 check of a size, a number or a text, in JSON Schema's words. */
function limits(schema: AnySchema, low: string, high: string): JsonSchema {
  const found: JsonSchema = {};
  const def = definition(schema);
  const isNumber = low === 'minimum';
  const bound = (name: string, value: unknown, inclusive = true): void => {
    // Integers carry the largest and the least as limits, which say nothing.
    if (typeof value === 'bigint' || Math.abs(value as number) === Number.MAX_SAFE_INTEGER) return;
    found[inclusive ? name : name === low ? 'exclusiveMinimum' : 'exclusiveMaximum'] = value;
  };
  for (const check of (def.checks ?? []) as Check[]) {
    const { kind, value, inclusive, regex } = check;
    if (kind === 'min') bound(low, value, inclusive !== false);
    if (kind === 'max') bound(high, value, inclusive !== false);
    if (kind === 'length') Object.assign(found, { [low]: value, [high]: value });
    if (kind === 'multipleOf') found.multipleOf = value;
    if (kind === 'regex' && regex) found.pattern = regex.source;
    const format = kind && FORMATS[kind];
    if (format) found.format = format;
    const newer = check._zod?.def;
    if (newer?.check === 'string_format' && newer.format === 'regex' && newer.pattern) found.pattern = newer.pattern.source;
    if (newer?.format && FORMATS[newer.format]) found.format = FORMATS[newer.format];
  }
  const sizes = def as Record<'minLength' | 'maxLength' | 'exactLength', { value: number } | null | undefined>;
  const { minLength, maxLength, exactLength } = sizes;
  if (typeof minLength === 'object' && minLength) found[low] = minLength.value;
  if (typeof maxLength === 'object' && maxLength) found[high] = maxLength.value;
  if (typeof exactLength === 'object' && exactLength) Object.assign(found, { [low]: exactLength.value, [high]: exactLength.value });
  // A format's own schema, like z.email(), keeps its name where the checks would be.
  if (typeof def.format === 'string' && FORMATS[def.format]) found.format = FORMATS[def.format];
  const bag = schema._zod?.bag ?? {};
  if (bag.minimum !== undefined) bound(low, bag.minimum);
  if (bag.maximum !== undefined) bound(high, bag.maximum);
  if (isNumber && bag.exclusiveMinimum !== undefined) bound(low, bag.exclusiveMinimum, false);
  if (isNumber && bag.exclusiveMaximum !== undefined) bound(high, bag.exclusiveMaximum, false);
  if (bag.multipleOf !== undefined) found.multipleOf = bag.multipleOf;
  return found;
}
