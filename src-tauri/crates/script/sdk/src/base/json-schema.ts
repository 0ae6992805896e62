// A zod schema as JSON Schema: for forms, for models, and for telling declarations apart.

import { accepts, definition, inside, restOf, shapeOf, typeOf, type AnySchema, type Definition } from './schema';
import { changesText, isInteger, lengthKeywords, numberKeywords } from './schema-checks';

type JsonSchema = Record<string, unknown>;

/**
 * Whom a schema is described for. `form`: forms and models. `wide`: telling declarations apart. `question`: a form whose
 * answers are checked by the schema itself, so that the description says where it must not be taken at its word.
 */
type Purpose = 'form' | 'wide' | 'question';

/** On the description of a schema that changes what it is given before it checks it. The engine knows the keyword. */
const CONVERTS = 'x-converts';

/** JSON Schema (draft 7) of what may be put in: for forms and models. */
export function describe(schema: AnySchema): JsonSchema {
  return described(schema, 0, 'form');
}

/** The same, never stricter than the schema, for telling declarations apart: what it makes of other values is let through. */
export function accepted(schema: AnySchema): JsonSchema {
  return described(schema, 0, 'wide');
}

/** The same of an answer to a question: `x-converts` marks what the schema itself has to decide. */
export function describeAnswer(schema: AnySchema): JsonSchema {
  return described(schema, 0, 'question');
}

/** Whether `describe` says all that a schema asks for; what it knows no word for is left out there. */
export function isWholeTold(schema: AnySchema): boolean {
  const def = definition(schema);
  const checks = (def.checks ?? []) as { _zod?: { def: { check?: string } } }[];
  if (checks.some((check) => check._zod?.def.check === 'custom')) return false;
  switch (typeOf(schema)) {
    case 'literal':
    case 'enum':
    case 'nativeenum':
    case 'null':
    case 'any':
    case 'unknown':
      return true;
    case 'string':
      return checks.length === 0 || describe(schema).pattern !== undefined;
    case 'array':
      return isWholeTold((def.element ?? def.type) as AnySchema);
    case 'set':
      return isWholeTold(def.valueType as AnySchema);
    case 'union':
      return (def.options as AnySchema[]).every(isWholeTold);
    case 'optional':
    case 'nullable':
    case 'default':
    case 'readonly':
      return isWholeTold(def.innerType as AnySchema);
    default:
      return false;
  }
}

function described(schema: AnySchema, depth: number, purpose: Purpose): JsonSchema {
  // A schema that contains itself ends here; a form shows raw JSON from that level on.
  if (depth > 24 || (purpose === 'wide' && takesAnything(schema))) return {};
  const go = (inner: unknown) => described(inner as AnySchema, depth + 1, purpose);
  const told = shapeFor(schema, go);
  if (purpose === 'question') {
    const rest = typeOf(schema) === 'object' ? restOf(schema) : undefined;
    if (rest !== undefined) told.additionalProperties = rest === true ? true : go(rest);
    if (takesAnything(schema) || changesText(schema)) told[CONVERTS] = true;
  }
  const words = schema.description;
  return words && told.description === undefined ? { ...told, description: words } : told;
}

/** Whether a schema makes something of values that are not of its type. */
function takesAnything(schema: AnySchema): boolean {
  const def = definition(schema);
  const makes = (def.effect as { type?: string } | undefined)?.type === 'preprocess';
  return def.coerce === true || makes || typeOf(schema) === 'catch';
}

function shapeFor(schema: AnySchema, go: (inner: unknown) => JsonSchema): JsonSchema {
  const def = definition(schema);
  switch (typeOf(schema)) {
    case 'string':
      return { type: 'string', ...lengthKeywords(schema, 'minLength', 'maxLength') };
    case 'number':
    case 'int':
      return { type: isInteger(schema) ? 'integer' : 'number', ...numberKeywords(schema) };
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
      return enumShape(enumValues(def));
    case 'array':
      return { type: 'array', items: go(def.element ?? def.type), ...lengthKeywords(schema, 'minItems', 'maxItems') };
    case 'tuple':
      return { type: 'array', items: (def.items as unknown[]).map(go) };
    case 'set':
      return { type: 'array', items: go(def.valueType), uniqueItems: true };
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
    if (!accepts(shape[name] as AnySchema, undefined)) required.push(name);
  }
  const described: JsonSchema = { type: 'object', properties };
  if (required.length > 0) described.required = required;
  return described;
}

function enumShape(values: unknown[]): JsonSchema {
  // A TypeScript enum may be of numbers.
  return values.every((value) => typeof value === 'string') ? { type: 'string', enum: values } : { enum: values };
}

function enumValues(def: Definition): unknown[] {
  if (Array.isArray(def.values)) return def.values as unknown[];
  const entries = (def.entries ?? def.values ?? {}) as Record<string, unknown>;
  // A numeric TypeScript enum also maps its numbers back to names; those keys are not values.
  return Object.keys(entries)
    .filter((key) => Number.isNaN(Number(key)))
    .map((key) => entries[key]);
}
