// What was given where something else belongs, in words for an error message.

/** A function that an author gave. */
export type Fn = (...args: never[]) => unknown;

/** `undefined`, `"text"`, `handler "add"`, `an array of 2`, `a function`… */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'string')
    return value.length > 60 ? `${JSON.stringify(value.slice(0, 60))}…` : JSON.stringify(value);
  if (typeof value === 'function') {
    const { name } = value as { name?: string };
    return name ? `the function ${name}` : 'a function';
  }
  if (typeof value !== 'object') return `${typeof value} ${String(value)}`;
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : `an array of ${value.length}`;
  const { kind, name } = value as { kind?: unknown; name?: unknown };
  if (typeof kind === 'string' && typeof name === 'string') return `${kind} "${name}"`;
  if (typeof (value as { safeParse?: unknown }).safeParse === 'function') return 'a zod schema';
  if (value instanceof Error) return `${value.name} "${value.message}"`;
  if (typeof (value as { then?: unknown }).then === 'function') return 'a promise';
  const keys = Object.keys(value);
  const shown = keys.slice(0, 4).join(', ') + (keys.length > 4 ? ', …' : '');
  return keys.length === 0 ? 'an empty object' : `an object with ${shown}`;
}

export function needFunction(value: unknown, where: string): Fn {
  if (typeof value !== 'function') throw new TypeError(`${where} needs a function, got ${describeValue(value)}`);
  return value as Fn;
}
