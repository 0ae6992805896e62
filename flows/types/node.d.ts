/**
 * Node's built-in modules, as far as flows have them, with and without the prefix `node:`. Others are refused when the
 * file loads, and the error says what to use instead.
 *
 * These types are for projects without `@types/node`.
 */

type Encoding = "utf8" | "utf-8" | "hex" | "base64" | "base64url" | "latin1" | "binary" | "ascii" | "utf16le" | "ucs2";

declare class Buffer extends Uint8Array<ArrayBuffer> {
  static from(text: string, encoding?: Encoding): Buffer;
  static from(data: ArrayBuffer | ArrayLike<number> | Iterable<number>): Buffer;
  static alloc(size: number, fill?: string | number | Uint8Array, encoding?: Encoding): Buffer;
  static allocUnsafe(size: number): Buffer;
  static concat(parts: readonly Uint8Array[], length?: number): Buffer;
  static compare(one: Uint8Array, other: Uint8Array): -1 | 0 | 1;
  static isBuffer(value: unknown): value is Buffer;
  static isEncoding(name: unknown): boolean;
  static byteLength(data: string | ArrayBufferView | ArrayBuffer, encoding?: Encoding): number;
  toString(encoding?: Encoding, start?: number, end?: number): string;
  toJSON(): { type: "Buffer"; data: number[] };
  equals(other: Uint8Array): boolean;
  compare(other: Uint8Array): -1 | 0 | 1;
  copy(target: Uint8Array, targetStart?: number, start?: number, end?: number): number;
  write(text: string, offset?: number, length?: number, encoding?: Encoding): number;
  override subarray(start?: number, end?: number): Buffer;
  readUInt8(offset?: number): number;
  readUInt16BE(offset?: number): number;
  readUInt16LE(offset?: number): number;
  readUInt32BE(offset?: number): number;
  readUInt32LE(offset?: number): number;
  writeUInt8(value: number, offset?: number): number;
  writeUInt16BE(value: number, offset?: number): number;
  writeUInt32BE(value: number, offset?: number): number;
}
interface Crypto {
  readonly subtle: {
    digest(algorithm: string | { name: string }, data: Uint8Array | ArrayBuffer): Promise<ArrayBuffer>;
  };
}
declare function atob(text: string): string;
declare function btoa(text: string): string;

/** The environment has the variables under "env" in flowglass.json; the rest is the same on every machine. */
declare var process: {
  readonly env: Record<string, string | undefined>;
  readonly platform: "linux";
  readonly arch: string;
  readonly argv: string[];
  readonly version: string;
  readonly versions: Record<string, string>;
  cwd(): string;
  uptime(): number;
  hrtime: { (before?: [number, number]): [number, number]; bigint(): bigint };
  nextTick(callback: (...args: any[]) => void, ...args: unknown[]): void;
  exit(code?: number): never;
};

declare module "node:process" {
  export default process;
  export const env: Record<string, string | undefined>;
  export const platform: "linux";
  export function cwd(): string;
}

declare module "node:buffer" {
  const all: { Buffer: typeof Buffer; atob: typeof atob; btoa: typeof btoa };
  export default all;
  const Bytes: typeof Buffer;
  type Bytes = Buffer;
  export { Bytes as Buffer };
}

declare module "node:crypto" {
  type Data = string | ArrayBufferView | ArrayBuffer;
  interface Hash {
    update(data: Data, encoding?: Encoding): this;
    digest(): Buffer;
    digest(encoding: "buffer"): Buffer;
    digest(encoding: Encoding): string;
    copy(): Hash;
  }
  export function createHash(algorithm: string): Hash;
  export function createHmac(algorithm: string, key: Data): Hash;
  export function hash(algorithm: string, data: Data, encoding?: Encoding): string;
  export function getHashes(): string[];
  export function randomUUID(): string;
  export function randomBytes(size: number): Buffer;
  export function randomBytes(size: number, callback: (error: Error | null, bytes: Buffer) => void): void;
  export function randomInt(max: number): number;
  export function randomInt(min: number, max: number): number;
  export function randomInt(min: number, max: number, callback: (error: Error | null, value: number) => void): void;
  export function randomFillSync<T extends ArrayBufferView>(target: T, offset?: number, size?: number): T;
  export function getRandomValues<T extends ArrayBufferView>(array: T): T;
  export function timingSafeEqual(one: ArrayBufferView, other: ArrayBufferView): boolean;
  export const subtle: { digest(algorithm: string | { name: string }, data: Data): Promise<ArrayBuffer> };
  const all: {
    createHash: typeof createHash;
    createHmac: typeof createHmac;
    hash: typeof hash;
    randomUUID: typeof randomUUID;
    randomBytes: typeof randomBytes;
    randomInt: typeof randomInt;
    timingSafeEqual: typeof timingSafeEqual;
    subtle: typeof subtle;
  };
  export default all;
}

declare module "node:path" {
  interface Parts {
    root: string;
    dir: string;
    base: string;
    ext: string;
    name: string;
  }
  interface Paths {
    basename(path: string, ending?: string): string;
    dirname(path: string): string;
    extname(path: string): string;
    format(parts: Partial<Parts>): string;
    isAbsolute(path: string): boolean;
    join(...parts: string[]): string;
    normalize(path: string): string;
    parse(path: string): Parts;
    relative(from: string, to: string): string;
    resolve(...parts: string[]): string;
    readonly sep: "/";
    readonly delimiter: ":";
    readonly posix: Paths;
  }
  const paths: Paths;
  export default paths;
  export const basename: Paths["basename"];
  export const dirname: Paths["dirname"];
  export const extname: Paths["extname"];
  export const format: Paths["format"];
  export const isAbsolute: Paths["isAbsolute"];
  export const join: Paths["join"];
  export const normalize: Paths["normalize"];
  export const parse: Paths["parse"];
  export const relative: Paths["relative"];
  export const resolve: Paths["resolve"];
  export const posix: Paths;
  export const sep: "/";
  export const delimiter: ":";
}

declare module "node:url" {
  const WebURL: typeof URL;
  type WebURL = URL;
  const Search: typeof URLSearchParams;
  type Search = URLSearchParams;
  export { WebURL as URL, Search as URLSearchParams };
  export function fileURLToPath(url: string | URL): string;
  export function pathToFileURL(path: string): URL;
  export function format(url: URL | string, options?: { fragment?: boolean; search?: boolean; auth?: boolean }): string;
}

declare module "node:util" {
  export function inspect(value: unknown, options?: { depth?: number | null; breakLength?: number }): string;
  export function format(...parts: unknown[]): string;
  export function promisify<A extends unknown[], R>(
    given: (...args: [...A, (error: any, value: R) => void]) => void,
  ): (...args: A) => Promise<R>;
  export function promisify<A extends unknown[]>(
    given: (...args: [...A, (error: any) => void]) => void,
  ): (...args: A) => Promise<void>;
  export function callbackify(given: (...args: any[]) => Promise<unknown>): (...args: any[]) => void;
  export function inherits(child: object, parent: object): void;
  export function deprecate<F>(given: F, message: string): F;
  export function isDeepStrictEqual(one: unknown, other: unknown): boolean;
  export function stripVTControlCharacters(text: string): string;
  export const types: Record<
    | "isDate"
    | "isRegExp"
    | "isMap"
    | "isSet"
    | "isPromise"
    | "isProxy"
    | "isNativeError"
    | "isTypedArray"
    | "isUint8Array",
    (value: unknown) => boolean
  >;
}

declare module "node:events" {
  class EventEmitter {
    static defaultMaxListeners: number;
    static once(emitter: EventEmitter, name: string | symbol): Promise<any[]>;
    on(name: string | symbol, listener: (...args: any[]) => void): this;
    once(name: string | symbol, listener: (...args: any[]) => void): this;
    off(name: string | symbol, listener: (...args: any[]) => void): this;
    addListener(name: string | symbol, listener: (...args: any[]) => void): this;
    removeListener(name: string | symbol, listener: (...args: any[]) => void): this;
    removeAllListeners(name?: string | symbol): this;
    emit(name: string | symbol, ...args: unknown[]): boolean;
    listeners(name: string | symbol): Function[];
    listenerCount(name: string | symbol): number;
    eventNames(): (string | symbol)[];
  }
  export default EventEmitter;
  export { EventEmitter };
  export const once: typeof EventEmitter.once;
}

declare module "node:assert" {
  type Expected = RegExp | Error | object | (new (...args: any[]) => Error) | ((error: any) => boolean);
  interface Assert {
    (value: unknown, message?: string | Error): asserts value;
    ok(value: unknown, message?: string | Error): asserts value;
    equal(actual: unknown, expected: unknown, message?: string | Error): void;
    notEqual(actual: unknown, expected: unknown, message?: string | Error): void;
    deepEqual(actual: unknown, expected: unknown, message?: string | Error): void;
    notDeepEqual(actual: unknown, expected: unknown, message?: string | Error): void;
    strictEqual(actual: unknown, expected: unknown, message?: string | Error): void;
    notStrictEqual(actual: unknown, expected: unknown, message?: string | Error): void;
    deepStrictEqual(actual: unknown, expected: unknown, message?: string | Error): void;
    notDeepStrictEqual(actual: unknown, expected: unknown, message?: string | Error): void;
    match(text: string, pattern: RegExp, message?: string | Error): void;
    doesNotMatch(text: string, pattern: RegExp, message?: string | Error): void;
    throws(run: () => unknown, expected?: Expected, message?: string): void;
    rejects(work: Promise<unknown> | (() => Promise<unknown>), expected?: Expected, message?: string): Promise<void>;
    fail(message?: string | Error): never;
    ifError(value: unknown): void;
    readonly strict: Assert;
  }
  const assert: Assert;
  export default assert;
  export class AssertionError extends Error {}
  export const ok: Assert["ok"];
  export const equal: Assert["equal"];
  export const strictEqual: Assert["strictEqual"];
  export const deepEqual: Assert["deepEqual"];
  export const deepStrictEqual: Assert["deepStrictEqual"];
  export const throws: Assert["throws"];
  export const rejects: Assert["rejects"];
  export const match: Assert["match"];
  export const fail: Assert["fail"];
  export const strict: Assert;
}

declare module "node:timers/promises" {
  export function setTimeout<T = void>(delay?: number, value?: T, options?: { signal?: AbortSignal }): Promise<T>;
}

declare module "node:async_hooks" {
  /** A value that is kept through `await`s. If it is entered before the first one, later steps of the chain have it. */
  export class AsyncLocalStorage<T = unknown> {
    constructor(options?: { defaultValue?: T; name?: string });
    static bind<F extends (...args: any[]) => unknown>(fn: F): F;
    static snapshot(): <R>(fn: (...args: any[]) => R, ...args: any[]) => R;
    readonly name: string;
    getStore(): T | undefined;
    run<R>(store: T, fn: (...args: any[]) => R, ...args: any[]): R;
    exit<R>(fn: (...args: any[]) => R, ...args: any[]): R;
    enterWith(store: T): void;
    disable(): void;
  }
  export class AsyncResource {
    constructor(type: string);
    static bind<F extends (...args: any[]) => unknown>(fn: F): F;
    bind<F extends (...args: any[]) => unknown>(fn: F): F;
    runInAsyncScope<R>(fn: (...args: any[]) => R, self?: unknown, ...args: any[]): R;
  }
}

declare module "node:querystring" {
  export function parse(text: string): Record<string, string | string[]>;
  export function stringify(values: Record<string, unknown>): string;
  const all: { parse: typeof parse; stringify: typeof stringify };
  export default all;
}

declare module "node:string_decoder" {
  export class StringDecoder {
    constructor(encoding?: string);
    write(part: Uint8Array): string;
    end(part?: Uint8Array): string;
  }
}

declare module "node:assert/strict" {
  import assert from "node:assert";
  export * from "node:assert";
  export default assert;
}

declare module "buffer" {
  export * from "node:buffer";
}
declare module "crypto" {
  import all from "node:crypto";
  export * from "node:crypto";
  export default all;
}
declare module "path" {
  import all from "node:path";
  export * from "node:path";
  export default all;
}
declare module "url" {
  export * from "node:url";
}
declare module "util" {
  export * from "node:util";
}
declare module "events" {
  import EventEmitter from "node:events";
  export * from "node:events";
  export default EventEmitter;
}
declare module "assert" {
  import assert from "node:assert";
  export * from "node:assert";
  export default assert;
}
declare module "assert/strict" {
  import assert from "node:assert";
  export * from "node:assert";
  export default assert;
}
declare module "querystring" {
  import all from "node:querystring";
  export * from "node:querystring";
  export default all;
}
declare module "string_decoder" {
  export * from "node:string_decoder";
}
declare module "async_hooks" {
  export * from "node:async_hooks";
}
declare module "timers/promises" {
  export * from "node:timers/promises";
}

/** The text of a file: `.md` and other text files directly, any file with `?raw`. */
declare module "*.md" {
  const text: string;
  export default text;
}
declare module "*.txt" {
  const text: string;
  export default text;
}
declare module "*?raw" {
  const text: string;
  export default text;
}
