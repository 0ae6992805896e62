// Values whose large parts are stored once and referred to. `runner/src/workspace/moving/page/values.rs` writes them.
import type { Chunks } from './chunks';

type Encoded = unknown;
type Record_ = Record<string, unknown>;

/** What a block is called, by its row. */
export type Names = { path: (row: number) => string; instance: (row: number) => string };
const NO_NAMES: Names = { path: String, instance: String };
const SPECIAL = ['$', '$l', '$o', '$p', '$a', '$i'] as const;

/** Which key of an object means something else than a field; null for an object as it was recorded. */
const specialOf = (fields: Record_) => SPECIAL.find((key) => Object.hasOwn(fields, key)) ?? null;

/** The first value of each chunk is at the number in `firsts`. */
export class Values {
  readonly #chunks = new Map<number, Encoded[]>();
  /** Values that were made, so that one that is shared is one in memory as well. Nobody may change them. */
  readonly #made = new Map<number, unknown>();

  constructor(
    readonly chunks: Chunks,
    readonly firsts: readonly number[],
    readonly names: Names = NO_NAMES,
  ) {}

  /** What a part of the file stands for, with everything that it refers to. */
  async read<T>(encoded: Encoded): Promise<T> {
    for (let missing = this.#missing([encoded]); missing.length > 0; missing = this.#missing([encoded])) {
      const read = missing.map(async (at) => [at, await this.chunks.load<Encoded[]>(`values-${at}`)] as const);
      for (const [at, values] of await Promise.all(read)) this.#chunks.set(at, values);
    }
    return this.#make(encoded) as T;
  }

  /** Every stored value as text, in order of its number; for looking for a text. */
  async *texts(): AsyncGenerator<{ number: number; text: string; refers: number[] }> {
    for (let at = 0; at < this.firsts.length; at++) {
      const values = await this.chunks.load<Encoded[]>(`values-${at}`);
      for (const [n, value] of values.entries()) {
        const refers: number[] = [];
        visit(value, (number) => void refers.push(number));
        yield { number: (this.firsts[at] ?? 0) + n, text: JSON.stringify(value), refers };
      }
    }
  }

  #chunkOf(number: number): number {
    let [low, high] = [0, this.firsts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.firsts[middle] ?? 0) <= number) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #encoded(number: number): Encoded {
    const chunk = this.#chunkOf(number);
    return this.#chunks.get(chunk)?.[number - (this.firsts[chunk] ?? 0)];
  }

  /** The chunks that must be read before something can be made, as far as that is known. */
  #missing(encoded: Encoded[]): number[] {
    const missing = new Set<number>();
    const seen = new Set<number>();
    const rest = [...encoded];
    while (rest.length > 0) {
      visit(rest.pop(), (number) => {
        if (seen.has(number) || this.#made.has(number)) return;
        seen.add(number);
        const chunk = this.#chunkOf(number);
        if (this.#chunks.has(chunk)) rest.push(this.#encoded(number));
        else missing.add(chunk);
      });
    }
    return [...missing];
  }

  #make(encoded: Encoded): unknown {
    if (Array.isArray(encoded)) return encoded.map((entry) => this.#make(entry));
    if (typeof encoded !== 'object' || encoded === null) return encoded;
    const fields = encoded as Record_;
    switch (specialOf(fields)) {
      case '$':
        return this.#stored(fields.$ as number);
      case '$l':
        return this.#list(fields.$l as [number | null, Encoded[]]);
      case '$p':
        return this.names.path(fields.$p as number);
      case '$i':
        return this.names.instance(fields.$i as number);
      case '$a': {
        const instance = this.names.instance(fields.$a as number);
        return instance.slice(instance.indexOf(':') + 1);
      }
      case '$o':
        return this.#fields(fields.$o as Record_);
      default:
        return this.#fields(fields);
    }
  }

  #fields(fields: Record_): Record_ {
    const made: Record_ = {};
    for (const [key, value] of Object.entries(fields)) put(made, key, this.#make(value));
    return made;
  }

  #stored(number: number): unknown {
    if (!this.#made.has(number)) this.#made.set(number, this.#make(this.#encoded(number)));
    return this.#made.get(number);
  }

  #list([last, rest]: [number | null, Encoded[]]): unknown[] {
    const pieces: unknown[][] = [];
    for (let at = last; at !== null;) {
      const [before, entries] = this.#encoded(at) as [number | null, Encoded[]];
      pieces.push(entries.map((entry) => this.#make(entry)));
      at = before;
    }
    return [...pieces.reverse(), rest.map((entry) => this.#make(entry))].flat();
  }
}

/** A key of a recorded object may be `__proto__`. */
function put(made: Record_, key: string, value: unknown) {
  if (key === '__proto__') Object.defineProperty(made, key, { value, enumerable: true, configurable: true });
  else made[key] = value;
}

/** Calls `take` with each number that something refers to itself. */
export function visit(encoded: Encoded, take: (number: number) => void): void {
  if (Array.isArray(encoded)) for (const entry of encoded) visit(entry, take);
  else if (typeof encoded === 'object' && encoded !== null) {
    const fields = encoded as Record_;
    const special = specialOf(fields);
    if (special === '$') take(fields.$ as number);
    else if (special === '$l') {
      const [last, rest] = fields.$l as [number | null, Encoded[]];
      if (last !== null) take(last);
      visit(rest, take);
    } else if (special === '$o') visitFields(fields.$o as Record_, take);
    else if (special === null) visitFields(fields, take);
  }
}

function visitFields(fields: Record_, take: (number: number) => void): void {
  for (const value of Object.values(fields)) visit(value, take);
}
