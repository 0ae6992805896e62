// The blocks of two requests laid beside each other by their paths. Pure.
import type { ViewRow } from '../../host/host';

export type Pair = {
  path: string;
  depth: number;
  left: ViewRow | null;
  right: ViewRow | null;
  /** What differs: which side lacks it, how it ended, or how long it took. */
  differs: 'left' | 'right' | 'status' | 'no';
};

/** The newest execution of each path; in the order of the left request, what only the right one has after its neighbours. */
export function align(left: readonly ViewRow[], right: readonly ViewRow[]): Pair[] {
  const [ours, theirs] = [newest(left), newest(right)];
  const pairs: Pair[] = [];
  const rest = [...theirs.keys()];
  let next = 0;
  const put = (path: string) => {
    const [one, other] = [ours.get(path) ?? null, theirs.get(path) ?? null];
    const differs = !other ? 'left' : !one ? 'right' : one.status !== other.status ? 'status' : 'no';
    pairs.push({ path, depth: path.split('/').length - 1, left: one, right: other, differs });
  };
  for (const path of ours.keys()) {
    if (theirs.has(path)) {
      // What only the other request has before this block stands before it here too.
      for (; next < rest.length && rest[next] !== path; next++) {
        const only = rest[next] ?? '';
        if (!ours.has(only)) put(only);
      }
      if (rest[next] === path) next++;
    }
    put(path);
  }
  const shown = new Set(pairs.map((pair) => pair.path));
  for (const path of rest) if (!shown.has(path)) put(path);
  return pairs;
}

function newest(rows: readonly ViewRow[]): Map<string, ViewRow> {
  const found = new Map<string, ViewRow>();
  for (const row of rows) {
    if (row.path == null) continue;
    const known = found.get(row.path);
    if (!known || (known.attempt ?? 0) <= (row.attempt ?? 0)) found.set(row.path, row);
  }
  return found;
}
