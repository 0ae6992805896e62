// node:buffer: the package `buffer`, and what it lacks of Node's.

import { Buffer as PlainBuffer, kMaxLength } from 'buffer';

type Plain = typeof PlainBuffer;
type Bytes = InstanceType<Plain>;

const isUrlSafe = (encoding: unknown): boolean => typeof encoding === 'string' && encoding.toLowerCase() === 'base64url';
const toUrlSafe = (text: string): string => text.replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');

/** A method that knows `base64url` where its argument number `at` is an encoding: as `base64`, which reads both. */
function knowing<F extends (...args: never[]) => unknown>(method: F, at: number): F {
  return function (this: unknown, ...args: unknown[]) {
    if (isUrlSafe(args[at])) args[at] = 'base64';
    return method.apply(this, args as never[]);
  } as unknown as F;
}

const given = PlainBuffer as unknown as Record<string, (...args: never[]) => unknown>;
const from = given.from as (...args: unknown[]) => unknown;
const isEncoding = given.isEncoding as (name: unknown) => boolean;
Object.assign(given, {
  from: knowing(from, 1),
  byteLength: knowing(given.byteLength as () => unknown, 1),
  alloc: knowing(given.alloc as () => unknown, 2),
  isEncoding: (name: unknown) => isUrlSafe(name) || isEncoding(name),
});

const methods = PlainBuffer.prototype as unknown as Record<string, (...args: never[]) => unknown>;
const toText = methods.toString as (this: Bytes, encoding?: string, start?: number, end?: number) => string;
const write = methods.write as (this: Bytes, text: string, ...rest: unknown[]) => number;
Object.assign(methods, {
  toString(this: Bytes, encoding?: string, start?: number, end?: number): string {
    if (isUrlSafe(encoding)) return toUrlSafe(toText.call(this, 'base64', start, end));
    return toText.call(this, encoding, start, end);
  },
  write(this: Bytes, text: string, ...rest: unknown[]): number {
    return write.call(this, text, ...rest.map((one) => (isUrlSafe(one) ? 'base64' : one)));
  },
});
// Node's names of these, in which `Uint` is spelt both ways.
for (const name of Object.getOwnPropertyNames(methods)) {
  const other = name.replace('UInt', 'Uint');
  if (other !== name && !(other in methods)) {
    Object.defineProperty(methods, other, { value: methods[name], writable: true, configurable: true });
  }
}

/** Bytes of a text of one byte a character, as `atob` gives them, and back. */
const latin = (text: string, name: string): Bytes => {
  if (/[^\0-\xff]/.test(text)) {
    const error = new Error(`${name}: the text has characters that are no bytes`);
    error.name = 'InvalidCharacterError';
    throw error;
  }
  return (from as (text: string, encoding: string) => Bytes)(text, 'latin1');
};
export const btoa = (text: unknown): string => latin(String(text), 'btoa').toString('base64');
export function atob(text: unknown): string {
  const plain = String(text).replace(/[\t\n\f\r ]/g, '');
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(plain) || plain.replace(/=+$/, '').length % 4 === 1) {
    const error = new Error('atob: the text is not base64');
    error.name = 'InvalidCharacterError';
    throw error;
  }
  return (from as (text: string, encoding: string) => Bytes)(plain, 'base64').toString('latin1');
}

export const constants = { MAX_LENGTH: kMaxLength, MAX_STRING_LENGTH: 0x1fffffe8 };
export { PlainBuffer as Buffer, kMaxLength };
export default { Buffer: PlainBuffer, atob, btoa, constants, kMaxLength };

Object.assign(globalThis, { Buffer: PlainBuffer, atob, btoa });
