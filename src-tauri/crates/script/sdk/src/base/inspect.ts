// How a value looks in a log line: short, on one line, never throwing.

import { caught } from './host';

const LONGEST = 2000;

export function inspect(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    return look(value);
  } catch {
    // Getters and proxies may throw.
    return '[cannot be read]';
  }
}

/** A thrown value on one line, without its stack. Never throws. */
export function describeThrown(error: unknown): string {
  caught(error);
  try {
    return String(error);
  } catch {
    // An object without a prototype has no text, and `toString` may throw.
    return inspect(error);
  }
}

function look(value: unknown): string {
  if (value instanceof Error) caught(value);
  if (value instanceof Error) return value.stack ? `${String(value)}\n${value.stack}` : String(value);
  if (typeof value === 'function') return `[function ${value.name || 'anonymous'}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  const seen = new Set<unknown>();
  let text: string;
  try {
    text = JSON.stringify(value, (_key, inner: unknown) => {
      if (typeof inner === 'function') return `[function ${inner.name || 'anonymous'}]`;
      if (inner instanceof Map) return { [`Map(${inner.size})`]: [...inner] };
      if (inner instanceof Set) return { [`Set(${inner.size})`]: [...inner] };
      if (typeof inner === 'bigint' || typeof inner === 'symbol') return String(inner);
      if (typeof inner === 'object' && inner !== null) {
        if (seen.has(inner)) return '[seen]';
        seen.add(inner);
      }
      return inner;
    });
  } catch {
    text = Object.prototype.toString.call(value);
  }
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}… (${text.length} characters)` : text;
}
