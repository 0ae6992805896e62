// The checks of a zod schema (`.min(1)`, `.regex(…)`, `.positive()`) as JSON Schema keywords.
//
// zod 3 and zod 4 write the same checks differently; both are read here into one spelling first.
// Must not: say a keyword that is stricter than the check. A check JSON Schema has no word for is left out.

import { definition, typeOf, type AnySchema } from './schema';

type Keywords = Record<string, unknown>;

/** A check in zod 3's words. */
interface Check {
  kind: string;
  value?: unknown;
  inclusive?: boolean;
  regex?: RegExp;
}

/** A check in zod 4's words; there a schema like `z.email()` is its own check. */
interface Check4 {
  check?: string;
  value?: unknown;
  inclusive?: boolean;
  minimum?: unknown;
  maximum?: unknown;
  length?: unknown;
  format?: string;
  pattern?: unknown;
  prefix?: unknown;
  suffix?: unknown;
  includes?: unknown;
}

const FORMATS: Record<string, string> = {
  email: 'email',
  url: 'uri',
  uuid: 'uuid',
  guid: 'uuid',
  datetime: 'date-time',
  date: 'date',
  time: 'time',
  ipv4: 'ipv4',
  ipv6: 'ipv6',
};

function modern(check: Check4): Check[] {
  switch (check.check) {
    case 'greater_than':
      return [{ kind: 'min', value: check.value, inclusive: check.inclusive === true }];
    case 'less_than':
      return [{ kind: 'max', value: check.value, inclusive: check.inclusive === true }];
    case 'multiple_of':
      return [{ kind: 'multipleOf', value: check.value }];
    case 'min_length':
      return [{ kind: 'min', value: check.minimum }];
    case 'max_length':
      return [{ kind: 'max', value: check.maximum }];
    case 'length_equals':
      return [{ kind: 'length', value: check.length }];
    case 'number_format':
      return String(check.format).includes('int') ? [{ kind: 'int' }] : [];
    case 'string_format':
      return [modernFormat(check)];
    case 'overwrite':
      return [{ kind: 'trim' }];
    default:
      return [];
  }
}

/** What zod 4 calls formats, zod 3 calls by many names. */
function modernFormat({ format, pattern, prefix, suffix, includes }: Check4): Check {
  switch (format) {
    case 'regex':
      return { kind: 'regex', regex: pattern as RegExp };
    case 'starts_with':
      return { kind: 'startsWith', value: prefix };
    case 'ends_with':
      return { kind: 'endsWith', value: suffix };
    case 'includes':
      return { kind: 'includes', value: includes };
    default:
      return { kind: format ?? '' };
  }
}

function checksOf(schema: AnySchema): Check[] {
  const def = definition(schema);
  const listed = ((def.checks ?? []) as (Check & { _zod?: { def: Check4 } })[]).flatMap((check) =>
    check._zod ? modern(check._zod.def) : [check],
  );
  // zod 3 keeps the bounds of a list beside its checks.
  for (const [field, kind] of [
    ['minLength', 'min'],
    ['maxLength', 'max'],
    ['exactLength', 'length'],
  ] as const) {
    const bound = def[field] as { value?: unknown } | null | undefined;
    if (typeof bound?.value === 'number') listed.push({ kind, value: bound.value });
  }
  return [...modern(def as Check4), ...listed];
}

/** Whether a text is changed before its other checks look at it: `.trim().max(3)`. */
export function changesText(schema: AnySchema): boolean {
  const changing = ['trim', 'toLowerCase', 'toUpperCase'];
  return typeOf(schema) === 'string' && checksOf(schema).some((check) => changing.includes(check.kind));
}

export function isInteger(schema: AnySchema): boolean {
  return checksOf(schema).some((check) => check.kind === 'int');
}

/** The bounds of a text's or a list's length, and what a text must look like. */
export function lengthKeywords(schema: AnySchema, low: string, high: string): Keywords {
  const found: Keywords = {};
  for (const { kind, value, regex } of checksOf(schema)) {
    if (kind === 'min' || kind === 'length') found[low] = larger(found[low], value);
    if (kind === 'max' || kind === 'length') found[high] = smaller(found[high], value);
    if (kind === 'nonempty') found[low] = larger(found[low], 1);
    if (kind in FORMATS) found.format = FORMATS[kind];
    const pattern = regex ? sourceOf(regex) : affix(kind, value);
    if (pattern !== undefined) found.pattern ??= pattern;
  }
  return found;
}

/** The bounds of a number. Both generations set aside the bounds of safe integers. */
export function numberKeywords(schema: AnySchema): Keywords {
  const found: Keywords = {};
  for (const { kind, value, inclusive } of checksOf(schema)) {
    if (typeof value !== 'number' || !Number.isFinite(value)) continue;
    if (kind === 'min') put(found, inclusive === false ? 'exclusiveMinimum' : 'minimum', value, larger);
    if (kind === 'max') put(found, inclusive === false ? 'exclusiveMaximum' : 'maximum', value, smaller);
    if (kind === 'multipleOf') found.multipleOf ??= value;
  }
  return found;
}

function put(found: Keywords, keyword: string, value: number, choose: (one: unknown, two: unknown) => unknown): void {
  found[keyword] = choose(found[keyword], value);
}

function larger(one: unknown, two: unknown): unknown {
  return typeof one === 'number' ? Math.max(one, two as number) : two;
}

function smaller(one: unknown, two: unknown): unknown {
  return typeof one === 'number' ? Math.min(one, two as number) : two;
}

/** JSON Schema has no flags: a pattern that needs one is left out. */
function sourceOf(regex: RegExp): string | undefined {
  return /^[dguy]*$/.test(regex.flags) ? regex.source : undefined;
}

function affix(kind: string, value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
  return { startsWith: `^${text}`, endsWith: `${text}$`, includes: text }[kind];
}
