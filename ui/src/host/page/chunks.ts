// The data of an exported page: compressed chunks in elements that a browser neither runs nor shows. A chunk is unpacked
// on first use. `runner/src/workspace/moving/page/file.rs` writes them.
import type { Fault } from '../host';

/** Returns the text of a chunk by its name; null if there is no such chunk. */
export type Source = (name: string) => string | null;

export const inDocument: Source = (name) => document.getElementById(`flowglass-${name}`)?.textContent ?? null;

const damaged = (name: string, why: unknown): Fault => ({
  kind: 'storage',
  message: `The part “${name}” of this page cannot be read (${why instanceof Error ? why.message : String(why)}).`,
});

export class Chunks {
  readonly #read = new Map<string, Promise<unknown>>();

  constructor(readonly source: Source) {}

  load<T>(name: string): Promise<T> {
    const known = this.#read.get(name) ?? this.#unpack(name);
    this.#read.set(name, known);
    return known as Promise<T>;
  }

  async #unpack(name: string): Promise<unknown> {
    const text = this.source(name);
    if (text === null) throw damaged(name, 'it is missing');
    try {
      const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
      const unpacked = new Response(bytes).body?.pipeThrough(new DecompressionStream('gzip'));
      return JSON.parse(await new Response(unpacked).text());
    } catch (thrown) {
      throw damaged(name, thrown);
    }
  }
}
