// What a zod schema says, read the same way from zod 3 and zod 4.
//
// Must not: import zod. The workspace may have its own copy, so schemas are read by their shape.

import { toJson } from './values';

interface Parsed {
  success: boolean;
  data?: unknown;
  error?: { issues?: { path: (string | number)[]; message: string }[]; message?: string };
}

export interface AnySchema {
  safeParse(value: unknown): Parsed;
  safeParseAsync?(value: unknown): Promise<Parsed>;
  description?: string;
  _def?: Definition;
  _zod?: { def: Definition; bag?: Record<string, unknown> };
}

export type Definition = Record<string, unknown> & { typeName?: string; type?: unknown };

export interface Field {
  name: string;
  default?: unknown;
  transient: boolean;
}

export function isSchema(value: unknown): value is AnySchema {
  return typeof value === 'object' && value !== null && typeof (value as AnySchema).safeParse === 'function';
}

const transientSlots = new WeakSet<object>();

/** Marks a top-level field of a sequencer's state as living in memory only (SEMANTICS §4.7). */
export function transientSlot<S extends AnySchema>(schema: S): S {
  transientSlots.add(schema);
  return schema;
}

/** The fields of a schema that are marked so. */
export function transientFields(schema: AnySchema): string[] {
  const shape = shapeOf(schema) ?? {};
  return Object.keys(shape).filter((name) => transientSlots.has(shape[name] as AnySchema));
}

export interface Answer {
  ok: boolean;
  data?: unknown;
  issues?: { path: string; message: string }[];
}

export function parse(schema: AnySchema, value: unknown): Answer {
  return answered(schema.safeParse(value));
}

/** As `parse`, where a schema that throws accepts nothing. */
export function accepts(schema: AnySchema, value: unknown): boolean {
  try {
    return schema.safeParse(value).success;
  } catch {
    return false;
  }
}

/** As `parse`, and refinements may wait. */
export async function parseAsync(schema: AnySchema, value: unknown): Promise<Answer> {
  return answered(await (schema.safeParseAsync?.(value) ?? schema.safeParse(value)));
}

function answered(parsed: Parsed): Answer {
  if (parsed.success) return { ok: true, data: parsed.data };
  const issues = parsed.error?.issues ?? [{ path: [], message: parsed.error?.message ?? 'invalid' }];
  return { ok: false, issues: issues.map((issue) => ({ path: dotted(issue.path), message: issue.message })) };
}

/** As the engine reads it: `{ data }`, `{}` for `undefined`, or `{ issues }`. */
export function answerJson(answer: Answer): string {
  if (!answer.ok) return JSON.stringify({ issues: answer.issues });
  const data = toJson(answer.data, 'the parsed value');
  return data === undefined ? '{}' : `{"data":${data}}`;
}

export function checkField(schema: AnySchema, field: string, value: unknown): Answer {
  const shape = shapeOf(schema)?.[field];
  if (!shape) return { ok: true };
  const answer = parse(shape, value);
  for (const issue of answer.issues ?? []) issue.path = issue.path === '' ? field : `${field}.${issue.path}`;
  return answer;
}

/**
 * As `checkField`, of the entry that is added at `at` to a list whose other entries are valid. Nothing if the list must
 * be checked as a whole: it has a check of its own, or is no list.
 */
export function checkEntry(schema: AnySchema, field: string, at: number, entry: unknown): Answer | undefined {
  const shape = shapeOf(schema)?.[field];
  if (!shape) return { ok: true };
  const element = elementOf(shape);
  if (!element) return undefined;
  const answer = parse(element, entry);
  for (const issue of answer.issues ?? [])
    issue.path = [field, at, ...(issue.path === '' ? [] : [issue.path])].join('.');
  return answer;
}

/** The schema of a list's entries, if the list itself is not checked. */
function elementOf(schema: AnySchema, depth = 0): AnySchema | undefined {
  const def = definition(schema) as { checks?: unknown[]; element?: unknown; type?: unknown } & Record<string, unknown>;
  if (depth > 20 || (def.checks?.length ?? 0) > 0) return undefined;
  switch (typeOf(schema)) {
    case 'optional':
    case 'default':
    case 'nullable':
    case 'readonly':
      return elementOf(def.innerType as AnySchema, depth + 1);
    case 'array':
      if (def.minLength || def.maxLength || def.exactLength) return undefined;
      // zod 3 has the element where zod 4 has its kind.
      return (typeof def.element === 'object' ? def.element : def.type) as AnySchema;
    default:
      return undefined;
  }
}

/** The top-level fields of an object schema. */
export function fieldsOf(schema: AnySchema): Field[] | undefined {
  const shape = shapeOf(schema);
  if (!shape) return undefined;
  const whole = schema.safeParse(undefined);
  const given = whole.success ? (whole.data as Record<string, unknown> | undefined) : undefined;
  return Object.keys(shape).map((name) => {
    const inner = shape[name] as AnySchema;
    const field: Field = { name, transient: transientSlots.has(inner) };
    const start = given && name in given ? { success: true, data: given[name] } : inner.safeParse(undefined);
    if (start.success && start.data !== undefined) field.default = start.data;
    return field;
  });
}

function dotted(path: (string | number)[]): string {
  return path.map(String).join('.');
}

export function definition(schema: AnySchema): Definition {
  return schema._zod?.def ?? schema._def ?? {};
}

/** One name for both generations: `ZodString` and `string` are `string`. */
export function typeOf(schema: AnySchema): string {
  const def = definition(schema);
  if (typeof def.typeName === 'string') return def.typeName.slice(3).toLowerCase();
  return typeof def.type === 'string' ? def.type : 'unknown';
}

/** What a wrapper wraps. */
export function inside(schema: AnySchema): AnySchema | undefined {
  const def = definition(schema);
  switch (typeOf(schema)) {
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'catch':
    case 'readonly':
    case 'nonoptional':
      return def.innerType as AnySchema;
    case 'effects':
      return def.schema as AnySchema;
    case 'branded':
      return def.type as unknown as AnySchema;
    case 'pipeline':
    case 'pipe':
      return def.in as AnySchema;
    case 'lazy':
      return (def.getter as () => AnySchema)();
    default:
      return undefined;
  }
}

export function shapeOf(schema: AnySchema): Record<string, AnySchema> | undefined {
  let at: AnySchema | undefined = schema;
  for (let depth = 0; at && depth < 20; depth++) {
    if (typeOf(at) === 'object') {
      const shape = definition(at).shape;
      return (typeof shape === 'function' ? (shape as () => unknown)() : shape) as Record<string, AnySchema>;
    }
    at = inside(at);
  }
  return undefined;
}

/** Whether an object schema lets other fields through on purpose: `.passthrough()`, `z.looseObject`, `.catchall(…)`. */
export function isOpen(schema: AnySchema): boolean {
  let at: AnySchema | undefined = schema;
  for (let depth = 0; at && depth < 20; depth++) {
    if (typeOf(at) === 'object') return restOf(at) !== undefined;
    at = inside(at);
  }
  return false;
}

/** The schema of the other fields of an object schema; `true` if it takes any. */
export function restOf(schema: AnySchema): AnySchema | true | undefined {
  const { unknownKeys, catchall } = definition(schema) as { unknownKeys?: unknown; catchall?: AnySchema };
  if (catchall !== undefined && typeOf(catchall) !== 'never') return catchall;
  return unknownKeys === 'passthrough' ? true : undefined;
}

/** Two object schemas as one, or the name of the field that both declare differently. */
export function extend(own: AnySchema, more: AnySchema): AnySchema | string {
  const [one, two] = [shapeOf(own), shapeOf(more)];
  const join = (own as AnySchema & { extend?: (shape: object) => AnySchema }).extend;
  if (!one || !two || typeof join !== 'function') return '';
  return Object.keys(two).find((field) => field in one && one[field] !== two[field]) ?? join.call(own, two);
}
