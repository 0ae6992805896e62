// The entries of long lists in states, parsed once however often a growing list is read.
//
// A chunk of entries never changes, and its id names no other one. What is kept is only seen through read-only views.

/** How many characters of JSON are kept in parsed form. */
const MAX_BYTES = 16 << 20;

const parsed = new Map<number, unknown[]>();
let size = 0;

/** The ids of a list's chunks, and the entries after them. */
export type LongLists = Record<string, [chunks: number[], rest: unknown[]]>;

/** Puts the lists into their fields. `load` answers with the JSON of a chunk. */
export function fillIn(state: object, lists: LongLists, load: (field: string, chunk: number) => string): void {
  for (const [field, [chunks, rest]] of Object.entries(lists)) {
    const value = ([] as unknown[]).concat(...chunks.map((id) => entries(id, () => load(field, id))), rest);
    Object.defineProperty(state, field, { value, enumerable: true, configurable: true, writable: true });
  }
}

function entries(id: number, load: () => string): unknown[] {
  const known = parsed.get(id);
  if (known) return known;
  const json = load();
  if (size + json.length > MAX_BYTES) {
    parsed.clear();
    size = 0;
  }
  const found = JSON.parse(json) as unknown[];
  parsed.set(id, found);
  size += json.length;
  return found;
}
