// Functions and schemas by number: a description holds numbers, and the engine asks for what they mean.
//
// Must not: import what builds blocks, which needs these numbers while it loads.

import type { Config, Fn } from './blocks';
import { plainOf } from '../base/plain';
import { fieldsOf, isOpen, isSchema, shapeOf, type AnySchema } from '../base/schema';

export const functions: Fn[] = [];
export const schemas: AnySchema[] = [];
const functionIds = new Map<Fn, number>();
const schemaIds = new Map<AnySchema, number>();

export function functionId(fn: unknown): number | undefined {
  if (typeof fn !== 'function') return undefined;
  let id = functionIds.get(fn as Fn);
  if (id === undefined) {
    id = functions.push(fn as Fn) - 1;
    functionIds.set(fn as Fn, id);
  }
  return id;
}

export function schemaId(schema: unknown): number | undefined {
  if (!isSchema(schema)) return undefined;
  let id = schemaIds.get(schema);
  if (id === undefined) {
    id = schemas.push(schema) - 1;
    schemaIds.set(schema, id);
  }
  return id;
}

export function stateSchema(schema: unknown): Config | undefined {
  const id = schemaId(schema);
  if (id === undefined) return undefined;
  const shape = shapeOf(schema as AnySchema);
  const fields = fieldsOf(schema as AnySchema)?.map((field) => ({ ...field, plain: plainOf(shape?.[field.name]) }));
  return { id, fields, open: isOpen(schema as AnySchema) };
}

/** A state schema whose fields begin with what a block says, in place of the schema's own defaults. */
export function startingWith(schema: Config | undefined, start: unknown): Config | undefined {
  if (schema === undefined || start === undefined) return schema;
  const fields = (schema.fields ?? []) as Config[];
  const given = start as Config;
  const known = fields.map((field) => {
    const name = field.name as string;
    return name in given ? { ...field, default: given[name] } : field;
  });
  const more = Object.keys(given).filter((name) => fields.every((field) => field.name !== name));
  return { ...schema, fields: [...known, ...more.map((name) => ({ name, default: given[name], transient: false }))] };
}

/** A text, or a function that makes one. */
export function text(value: unknown): Config | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'function' ? { call: functionId(value) } : { fixed: value };
}

/** The engine counts tries in 32 bits. */
const MOST_ATTEMPTS = 2 ** 32 - 1;

/** A checked `retry`, in whole numbers; what its author left out is not there. */
export function retry(config: Config | undefined): Config | undefined {
  if (!config) return undefined;
  const classes = config.retryableErrors as { name: string }[] | undefined;
  const whole = (value: unknown, most: number) =>
    value === undefined ? undefined : Math.min(Math.ceil(Number(value)), most);
  return {
    maxAttempts: whole(config.maxAttempts, MOST_ATTEMPTS),
    baseDelayMs: whole(config.baseDelayMs, Number.MAX_SAFE_INTEGER),
    maxDelayMs: whole(config.maxDelayMs, Number.MAX_SAFE_INTEGER),
    retryableErrors: classes?.map((error) => error.name),
  };
}

/** A checked time limit in whole milliseconds, 0 where there is none; nothing where its author left it out. */
export function timeLimit(ms: unknown): number | undefined {
  if (typeof ms !== 'number' || Number.isNaN(ms)) return undefined;
  return ms <= 0 || ms > Number.MAX_SAFE_INTEGER ? 0 : Math.max(1, Math.floor(ms));
}
