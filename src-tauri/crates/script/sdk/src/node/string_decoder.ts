// node:string_decoder: characters whose bytes come in parts.

import { Buffer } from './buffer';

type Bytes = InstanceType<typeof Buffer>;

/** How many bytes at the end of a text in UTF-8 belong to a character that is not whole. */
function unfinished(bytes: Bytes): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    if (byte >= 0xc0) return length > back ? back : 0;
    if (byte < 0x80) return 0;
  }
  return 0;
}

export class StringDecoder {
  readonly encoding: string;
  #rest: Bytes = Buffer.alloc(0);

  constructor(encoding = 'utf8') {
    if (!Buffer.isEncoding(encoding)) throw new TypeError(`"${encoding}" is no encoding`);
    this.encoding = encoding.toLowerCase().replace('utf-8', 'utf8');
  }

  write(part: Uint8Array): string {
    const all = Buffer.concat([this.#rest, part]);
    const left =
      this.encoding === 'utf8'
        ? unfinished(all)
        : /^base64/.test(this.encoding)
          ? all.length % 3
          : /^(utf16le|utf-16le|ucs-?2)$/.test(this.encoding)
            ? all.length % 2
            : 0;
    this.#rest = all.subarray(all.length - left) as Bytes;
    return all.subarray(0, all.length - left).toString(this.encoding as BufferEncoding);
  }
  end(part?: Uint8Array): string {
    const text = part ? this.write(part) : '';
    const rest = this.#rest.toString(this.encoding as BufferEncoding);
    this.#rest = Buffer.alloc(0);
    return text + rest;
  }
}
export default { StringDecoder };
