// Copies, merges and comparisons of plain values, as states hold them.

export function cloneValue<T>(value: T): T {
  return structuredClone(value);
}

type Plain = Record<string, unknown>;

function isPlain(value: unknown): value is Plain {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** `override` over `base`, object by object; lists and single values are replaced as a whole. */
export function deepMerge(base: Plain, override: Plain): Plain {
  const merged: Plain = { ...base };
  for (const [key, value] of Object.entries(override)) {
    const under = merged[key];
    merged[key] = isPlain(under) && isPlain(value) ? deepMerge(under, value) : value;
  }
  return merged;
}

/** How deep `deepEqual` looks: a value that contains itself has no end. */
const DEEPEST = 32;

function same(one: unknown, two: unknown, depth: number): boolean {
  if (depth > DEEPEST) throw new RangeError(`deepEqual: values nest deeper than ${DEEPEST} levels`);
  if (Object.is(one, two)) return true;
  [one, two].forEach(refuseUnplain);
  if (one instanceof Date || two instanceof Date) {
    return one instanceof Date && two instanceof Date && Object.is(one.getTime(), two.getTime());
  }
  if (Array.isArray(one) || Array.isArray(two)) {
    if (!Array.isArray(one) || !Array.isArray(two) || one.length !== two.length) return false;
    return one.every((item, at) => same(item, two[at], depth + 1));
  }
  if (!isPlain(one) || !isPlain(two)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(two).length &&
    keys.every((key) => Object.prototype.hasOwnProperty.call(two, key) && same(one[key], two[key], depth + 1))
  );
}

function refuseUnplain(value: unknown): void {
  const isObject = typeof value === 'object' && value !== null;
  if (isObject && (Array.isArray(value) || isPlain(value) || value instanceof Date)) return;
  if (!isObject && typeof value !== 'function' && typeof value !== 'symbol') return;
  const what = isObject ? `a ${(value as object).constructor.name}` : `a ${typeof value}`;
  throw new TypeError(`deepEqual compares JSON values and dates, got ${what}; looseDeepEqual compares any values`);
}

/** Whether two JSON values are equal. A date equals one of the same time; anything else is refused. */
export const deepEqual = (one: unknown, two: unknown): boolean => same(one, two, 0);

/** Whether two values have equal own keys, whatever they are. Refuses nothing; `NaN` equals nothing. */
export function looseDeepEqual(one: unknown, two: unknown): boolean {
  if (one === two) return true;
  if (typeof one !== 'object' || typeof two !== 'object' || one === null || two === null) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(two).length &&
    keys.every((key) => looseDeepEqual((one as Plain)[key], (two as Plain)[key]))
  );
}

/** JSON with its keys in order, so that equal values have equal texts. */
export function stableStringify(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (!isPlain(inner)) return inner;
    const keys = Object.keys(inner).sort();
    return Object.fromEntries(keys.map((key) => [key, inner[key]]));
  });
}
