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

function same(one: unknown, two: unknown, strict: boolean): boolean {
  if (Object.is(one, two)) return true;
  if (strict) [one, two].forEach(refuseUnplain);
  if (Array.isArray(one) || Array.isArray(two)) {
    if (!Array.isArray(one) || !Array.isArray(two) || one.length !== two.length) return false;
    return one.every((item, at) => same(item, two[at], strict));
  }
  if (!isPlain(one) || !isPlain(two)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(two).length &&
    keys.every((key) => Object.prototype.hasOwnProperty.call(two, key) && same(one[key], two[key], strict))
  );
}

function refuseUnplain(value: unknown): void {
  const isObject = typeof value === 'object' && value !== null;
  if (typeof value !== 'function' && (!isObject || Array.isArray(value) || isPlain(value))) return;
  const what = typeof value === 'function' ? 'a function' : `a ${(value as object).constructor.name}`;
  throw new TypeError(`deepEqual compares JSON values, got ${what}; looseDeepEqual takes it for different`);
}

/** Whether two JSON values are equal. Anything else is refused. */
export const deepEqual = (one: unknown, two: unknown): boolean => same(one, two, true);

/** The same, and what is no JSON is equal only to itself. */
export const looseDeepEqual = (one: unknown, two: unknown): boolean => same(one, two, false);

/** JSON with its keys in order, so that equal values have equal texts. */
export function stableStringify(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (!isPlain(inner)) return inner;
    const keys = Object.keys(inner).sort();
    return Object.fromEntries(keys.map((key) => [key, inner[key]]));
  });
}
