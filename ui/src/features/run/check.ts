// What a form starts with, and what is wrong with what it holds. The engine has the last word;
// this only says early what would certainly be refused.
import { isRecord } from '../../base/json';
import { formatPath, parsePath, type Step } from '../../base/path';
import type { Field } from './schema';

export type Problem = { path: string; message: string };

/** The value a field starts with; undefined where a person has to choose. */
export function startOf(field: Field): unknown {
  if (field.fallback !== undefined) return structuredClone(field.fallback);
  if (field.kind === 'null') return null;
  if (field.kind === 'choice' && field.choices?.length === 1 && field.required) return field.choices[0];
  if (field.kind === 'group') {
    const value: Record<string, unknown> = {};
    for (const { name, field: inner } of field.fields ?? []) {
      const start = startOf(inner);
      if (start !== undefined) value[name] = start;
    }
    return field.required || Object.keys(value).length > 0 ? value : undefined;
  }
  if (!field.required) return undefined;
  if (field.kind === 'boolean') return false;
  if (field.kind === 'list')
    return Array.from({ length: Math.min(field.least ?? 0, 20) }, () =>
      field.each ? (startOf(field.each) ?? '') : '',
    );
  return field.kind === 'record' ? {} : undefined;
}

export function check(field: Field, value: unknown, path: readonly Step[] = []): Problem[] {
  const wrong = (message: string): Problem[] => [{ path: formatPath(path), message }];
  if (value === undefined) return field.required && field.kind !== 'json' ? wrong('Required.') : [];
  if (value === null)
    return field.nullable || field.kind === 'json' || field.choices?.includes(null) ? [] : wrong('Must not be null.');
  switch (field.kind) {
    case 'text':
      return typeof value === 'string' ? wrongText(field, value).flatMap(wrong) : wrong('Must be a text.');
    case 'number':
    case 'integer':
      return wrongNumber(field, value).flatMap(wrong);
    case 'boolean':
      return typeof value === 'boolean' ? [] : wrong('Must be true or false.');
    case 'null':
      return wrong('Must be null.');
    case 'choice': {
      const allowed = field.choices ?? [];
      return allowed.some((one) => JSON.stringify(one) === JSON.stringify(value))
        ? []
        : wrong(`Choose one of ${allowed.map((one) => String(one)).join(', ')}.`);
    }
    case 'list': {
      if (!Array.isArray(value)) return wrong('Must be a list.');
      const own =
        value.length < (field.least ?? 0)
          ? wrong(`Needs at least ${field.least} ${field.least === 1 ? 'entry' : 'entries'}.`)
          : value.length > (field.most ?? Infinity)
            ? wrong(`Takes at most ${field.most} entries.`)
            : [];
      return [...own, ...value.flatMap((one, at) => (field.each ? check(field.each, one, [...path, at]) : []))];
    }
    case 'group':
      if (!isRecord(value)) return wrong('Must be an object.');
      return (field.fields ?? []).flatMap(({ name, field: inner }) => check(inner, value[name], [...path, name]));
    case 'record':
      if (!isRecord(value)) return wrong('Must be an object.');
      return Object.keys(value).flatMap((key) => (field.each ? check(field.each, value[key], [...path, key]) : []));
    default:
      return [];
  }
}

function wrongText(field: Field, value: string): string[] {
  if (value.length < (field.least ?? 0))
    return [field.least === 1 ? 'Must not be empty.' : `Needs at least ${field.least} characters.`];
  if (value.length > (field.most ?? Infinity)) return [`Takes at most ${field.most} characters.`];
  if (!field.pattern) return [];
  try {
    return new RegExp(field.pattern, 'u').test(value) ? [] : [`Must match ${field.pattern}`];
  } catch {
    // A pattern this engine cannot read is left to the one that can.
    return [];
  }
}

function wrongNumber(field: Field, value: unknown): string[] {
  if (typeof value !== 'number' || !Number.isFinite(value)) return ['Must be a number.'];
  if (field.kind === 'integer' && !Number.isInteger(value)) return ['Must be a whole number.'];
  const { least, most } = field;
  if (least !== undefined && (field.leastOpen ? value <= least : value < least))
    return [`Must be ${field.leastOpen ? 'more than' : 'at least'} ${least}.`];
  if (most !== undefined && (field.mostOpen ? value >= most : value > most))
    return [`Must be ${field.mostOpen ? 'less than' : 'at most'} ${most}.`];
  return [];
}

/** A path as the form writes it, whatever the other side's spelling was. */
export const samePath = (path: string): string => formatPath(parsePath(path.replace(/^\$\.?/, '')));
