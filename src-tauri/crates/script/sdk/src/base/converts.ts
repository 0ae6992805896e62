// Whether a schema may make something else of a value that it has made itself: a transform does.
//
// Must not: parse anything. A transform of the author may have effects.

import { definition, isSchema, typeOf, type AnySchema } from './schema';

/** Whether any part of a schema converts. Coercions, defaults, `catch` and `trim` leave their own results as they are. */
export function converts(schema: AnySchema): boolean {
  return hasConversion(schema, new Set());
}

function hasConversion(value: unknown, seen: Set<object>): boolean {
  if (typeof value !== 'object' || value === null || seen.has(value)) return false;
  seen.add(value);
  if (!isSchema(value)) {
    if (value instanceof Map) return [...value.values()].some((inner) => hasConversion(inner, seen));
    const isList = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
    return isList && Object.values(value).some((inner) => hasConversion(inner, seen));
  }
  const def = definition(value);
  const kind = typeOf(value);
  const effect = (def.effect as { type?: string } | undefined)?.type;
  if (kind === 'transform' || effect === 'transform' || effect === 'preprocess') return true;
  const checks = (def.checks ?? []) as { _zod?: { def: { check?: string; tx?: unknown } } }[];
  if (checks.some((check) => check._zod?.def.check === 'overwrite' && !isStable(check._zod.def.tx))) return true;
  const made = kind === 'lazy' ? (def.getter as () => unknown)() : undefined;
  const shape = typeof def.shape === 'function' ? (def.shape as () => unknown)() : def.shape;
  return [made, shape, ...Object.values(def)].some((inner) => hasConversion(inner, seen));
}

/** Whether an overwrite of zod 4 leaves its own results as they are. `.trim()` is an overwrite, as an author's are. */
function isStable(overwrite: unknown): boolean {
  return [' Ab\u0065\u0301 ', 1.5].every((sample) => {
    try {
      const once = (overwrite as (value: unknown) => unknown)(sample);
      return Object.is((overwrite as (value: unknown) => unknown)(once), once);
    } catch {
      // The sample is not of its type.
      return true;
    }
  });
}
