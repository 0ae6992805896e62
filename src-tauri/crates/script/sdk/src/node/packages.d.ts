// What is used of packages that come without types of their own, or whose types are Node's.

type BufferEncoding = 'utf8' | 'hex' | 'base64' | 'latin1' | 'ascii' | 'utf16le';

declare module 'buffer' {
  export class Buffer extends Uint8Array<ArrayBuffer> {
    static from(data: unknown, encoding?: BufferEncoding): Buffer;
    static alloc(size: number): Buffer;
    static concat(parts: readonly Uint8Array[]): Buffer;
    static isEncoding(name: string): boolean;
    subarray(start?: number, end?: number): Buffer;
    toString(encoding?: BufferEncoding, start?: number, end?: number): string;
    readUIntBE(offset: number, length: number): number;
  }
  export const kMaxLength: number;
}

declare module 'path-browserify' {
  const posix: Record<
    'basename' | 'dirname' | 'extname' | 'format' | 'isAbsolute' | 'join' | 'normalize' | 'parse' | 'relative' | 'resolve',
    (...parts: string[]) => string
  > & { sep: string; delimiter: string };
  export default posix;
}

declare module 'events' {
  class EventEmitter {
    static once(emitter: EventEmitter, name: string | symbol): Promise<unknown[]>;
  }
  export default EventEmitter;
}

declare module 'node-inspect-extracted' {
  const all: {
    inspect(value: unknown, options?: object): string;
    format(...parts: unknown[]): string;
    formatWithOptions(options: object, ...parts: unknown[]): string;
    stripVTControlCharacters(text: string): string;
  };
  export default all;
}

declare module '@formatjs/intl-datetimeformat' {
  export const DateTimeFormat: unknown;
}
declare module '@formatjs/intl-numberformat' {
  export const NumberFormat: unknown;
}
declare module '@formatjs/intl-pluralrules' {
  export const PluralRules: unknown;
}
declare module '@formatjs/intl-listformat' {
  const ListFormat: unknown;
  export default ListFormat;
}
declare module '@formatjs/intl-relativetimeformat' {
  const RelativeTimeFormat: unknown;
  export default RelativeTimeFormat;
}
