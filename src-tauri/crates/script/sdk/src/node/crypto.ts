// node:crypto: chance, hashes and comparing. Hashes are the engine's; chance is recorded.
//
// Must not: have ciphers, signatures or keys. What a flow would hide with them stands in its log.

import { bytesOf } from '../base/bytes';
import { Buffer } from './buffer';
import * as host from './host';

type Bytes = InstanceType<typeof Buffer>;
type Data = string | ArrayBufferView | ArrayBuffer;
/** As much as the engine gives at once. */
const MOST_AT_ONCE = 65_536;

const HASHES = ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512'];

function bytes(data: unknown, what: string, encoding?: string): Uint8Array {
  if (typeof data === 'string') return Buffer.from(data, (encoding ?? 'utf8') as BufferEncoding);
  const found = bytesOf(data);
  if (!found) throw new TypeError(`${what} is a string, a Buffer or a Uint8Array, not ${data === null ? 'null' : typeof data}`);
  return found;
}

/** How the engine names an algorithm: OpenSSL has more than one name of each. */
function algorithmOf(name: unknown): string {
  const plain = String(name).toLowerCase().replace(/^rsa-/, '').replace('sha-', 'sha');
  if (!HASHES.includes(plain)) {
    throw new Error(`"${String(name)}" is no hash that a flow has; it has ${HASHES.join(', ')}`);
  }
  return plain;
}

function encoded(made: Bytes, encoding: string | undefined): Bytes | string {
  return encoding === undefined || encoding === 'buffer' ? made : made.toString(encoding as BufferEncoding);
}

class Hash {
  readonly #algorithm: string;
  readonly #key: Uint8Array | undefined;
  #parts: Uint8Array[] = [];
  #isDone = false;

  constructor(algorithm: string, key?: Uint8Array) {
    this.#algorithm = algorithm;
    this.#key = key;
  }

  update(data: Data, encoding?: string): this {
    this.#check();
    this.#parts.push(Buffer.from(bytes(data, 'what is hashed', encoding)));
    return this;
  }
  digest(): Bytes;
  digest(encoding: string): string;
  digest(encoding?: string): Bytes | string {
    this.#check();
    this.#isDone = true;
    const made = host.digest(this.#algorithm, Buffer.concat(this.#parts), this.#key) as Uint8Array;
    return encoded(Buffer.from(made), encoding);
  }
  copy(): Hash {
    this.#check();
    const copy = new Hash(this.#algorithm, this.#key);
    copy.#parts = [...this.#parts];
    return copy;
  }

  #check(): void {
    if (this.#isDone) throw new Error('digest was called already; make another hash');
  }
}

export function createHash(algorithm: string): Hash {
  return new Hash(algorithmOf(algorithm));
}

export function createHmac(algorithm: string, key: Data): Hash {
  return new Hash(algorithmOf(algorithm), bytes(key, 'a key'));
}

/** The hash of data at once. */
export function hash(algorithm: string, data: Data, encoding = 'hex'): Bytes | string {
  return encoded(createHash(algorithm).update(data).digest(), encoding);
}

export const getHashes = (): string[] => [...HASHES];

export const randomUUID = (): string => host.randomUUID();

type Callback<T> = (error: Error | null, value: T) => void;

/** Answers at once, or by the callback that Node allows. */
function answered<T>(value: T, callback: Callback<T> | undefined): T | undefined {
  if (callback === undefined) return value;
  void Promise.resolve().then(() => callback(null, value));
  return undefined;
}

export function randomBytes(size: number, callback?: Callback<Bytes>): Bytes | undefined {
  if (!Number.isInteger(size) || size < 0 || size > 2 ** 31 - 1) {
    throw new RangeError(`randomBytes needs a number of bytes from 0 to ${2 ** 31 - 1}, not ${String(size)}`);
  }
  const made = Buffer.alloc(size);
  for (let at = 0; at < size; at += MOST_AT_ONCE) made.set(host.randomBytes(Math.min(MOST_AT_ONCE, size - at)), at);
  return answered(made, callback);
}

export function randomFillSync<T extends ArrayBufferView>(target: T, offset = 0, size?: number): T {
  const all = bytesOf(target) as Uint8Array;
  all.set(randomBytes(size ?? all.length - offset) as Bytes, offset);
  return target;
}

export function getRandomValues<T extends ArrayBufferView>(array: T): T {
  return (globalThis as unknown as { crypto: { getRandomValues(array: T): T } }).crypto.getRandomValues(array);
}

/** `randomInt(max)`, `randomInt(min, max)`, each with a callback or without. */
export function randomInt(...given: (number | Callback<number>)[]): number | undefined {
  const callback = given.find((one) => typeof one === 'function');
  const numbers = given.filter((one) => typeof one === 'number');
  const [min, max] = numbers.length > 1 ? (numbers as [number, number]) : [0, numbers[0] as number];
  if (!Number.isSafeInteger(min) || !Number.isSafeInteger(max) || max <= min || max - min >= 2 ** 48) {
    throw new RangeError('randomInt needs whole numbers, the smaller one first, and less than 2 ** 48 between them');
  }
  const range = max - min;
  // What does not divide evenly is drawn again, so that every number is as likely.
  const limit = 2 ** 48 - (2 ** 48 % range);
  for (;;) {
    const drawn = (randomBytes(6) as Bytes).readUIntBE(0, 6);
    if (drawn < limit) return answered(min + (drawn % range), callback);
  }
}

/** Whether two values of one length are the same, in a time that does not tell where they differ. */
export function timingSafeEqual(one: ArrayBufferView, other: ArrayBufferView): boolean {
  const [a, b] = [bytes(one, 'a value to compare'), bytes(other, 'a value to compare')];
  if (a.length !== b.length) {
    throw new RangeError(`timingSafeEqual compares values of one length, not of ${a.length} and ${b.length} bytes`);
  }
  let differs = 0;
  for (let at = 0; at < a.length; at++) differs |= (a[at] as number) ^ (b[at] as number);
  return differs === 0;
}

export const subtle = {
  digest: (algorithm: string | { name: string }, data: Data): Promise<ArrayBuffer> =>
    new Promise((resolve) => {
      const name = typeof algorithm === 'string' ? algorithm : algorithm.name;
      const made = createHash(name).update(data).digest();
      resolve(made.buffer.slice(made.byteOffset, made.byteOffset + made.length) as ArrayBuffer);
    }),
};

const known = globalThis as unknown as { crypto: Record<string, unknown> };
if (!('subtle' in known.crypto)) {
  Object.defineProperty(known.crypto, 'subtle', { value: subtle, enumerable: true, configurable: true, writable: true });
}
export const webcrypto = known.crypto;

const all = {
  createHash,
  createHmac,
  getHashes,
  getRandomValues,
  hash,
  randomBytes,
  randomFillSync,
  randomInt,
  randomUUID,
  subtle,
  timingSafeEqual,
  webcrypto,
};

/** What Node has besides, said where it is called. */
const ABSENT =
  'createCipheriv createDecipheriv createSign createVerify createPrivateKey createPublicKey createSecretKey sign verify ' +
  'generateKeyPair generateKeyPairSync generateKey scrypt scryptSync pbkdf2 pbkdf2Sync hkdf hkdfSync publicEncrypt privateDecrypt';
const absent = Object.fromEntries(
  ABSENT.split(' ').map((name) => [
    name,
    () => {
      throw new Error(`crypto.${name} is not there in a flow; of node:crypto it has ${Object.keys(all).join(', ')}`);
    },
  ]),
);

export default { ...absent, ...all };
