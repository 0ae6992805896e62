// What differs between two values, as paths a person can read: the same rules as the engine's `views/diff.rs`.
import { isRecord } from '../../base/json';
import type { Change } from '../bindings';

export type Difference = Pick<Change, 'path' | 'kind' | 'old' | 'new'>;

/** Longer middles of lists are compared place by place: the table would cost more than it tells. */
const LCS_CELLS = 4_000_000;

/** Structural equality: the order of an object's keys does not matter. */
export function equal(one: unknown, other: unknown): boolean {
  if (Object.is(one, other) || one === other) return true;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((entry, at) => equal(entry, other[at]));
  if (!isRecord(one) || !isRecord(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && equal(one[key], other[key]))
  );
}

/** `a.b`, or `a["b c"]` where the name is no identifier. */
export function fieldPath(path: string, key: string): string {
  if (!/^[\p{Alphabetic}\p{N}_$-]+$/u.test(key) || /^\d/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}

/** The differences from `old` to `now`, in the newer value's order; undefined stands for a value that is not there. */
export function difference(old: unknown, now: unknown): Difference[] {
  const found: Difference[] = [];
  compare('', old, now, found);
  return found;
}

function compare(path: string, old: unknown, now: unknown, found: Difference[]): void {
  if (Object.is(old, now)) return;
  if (old === undefined) found.push({ path, kind: 'added', new: now });
  else if (now === undefined) found.push({ path, kind: 'removed', old });
  else if (Array.isArray(old) && Array.isArray(now)) lists(path, old, now, found);
  else if (isRecord(old) && isRecord(now)) {
    for (const [key, value] of Object.entries(now))
      compare(fieldPath(path, key), Object.hasOwn(old, key) ? old[key] : undefined, value, found);
    for (const [key, value] of Object.entries(old))
      if (!Object.hasOwn(now, key)) found.push({ path: fieldPath(path, key), kind: 'removed', old: value });
  } else if (!equal(old, now)) found.push({ path, kind: 'changed', old, new: now });
}

function lists(path: string, old: unknown[], now: unknown[], found: Difference[]): void {
  const shortest = Math.min(old.length, now.length);
  let [start, end] = [0, 0];
  while (start < shortest && equal(old[start], now[start])) start++;
  while (end < shortest - start && equal(old[old.length - 1 - end], now[now.length - 1 - end])) end++;
  const [before, after] = [old.slice(start, old.length - end), now.slice(start, now.length - end)];
  const at = (index: number) => `${path}[${start + index}]`;
  if ((before.length === after.length && before.length <= 1) || before.length * after.length > LCS_CELLS) {
    for (let n = 0; n < Math.max(before.length, after.length); n++) compare(at(n), before[n], after[n], found);
    return;
  }
  const [gone, come] = unmatched(before, after);
  const moves: [number, number][] = [];
  const added = come.filter((to) => {
    const from = gone.findIndex((one) => equal(before[one], after[to]));
    if (from < 0) return true;
    moves.push([gone.splice(from, 1)[0] as number, to]);
    return false;
  });
  // What is left and stands at the same place was changed, not replaced.
  for (const to of added) {
    const place = gone.indexOf(to);
    if (place < 0) found.push({ path: at(to), kind: 'added', new: after[to] });
    else {
      gone.splice(place, 1);
      compare(at(to), before[to], after[to], found);
    }
  }
  for (const [from, to] of moves) found.push({ path: at(to), kind: 'moved', old: at(from), new: at(to) });
  for (const from of gone) found.push({ path: at(from), kind: 'removed', old: before[from] });
}

/** Places of both lists outside their longest common subsequence. */
function unmatched(old: unknown[], now: unknown[]): [number[], number[]] {
  const width = now.length + 1;
  const lengths = new Uint32Array((old.length + 1) * width);
  const length = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--)
      lengths[i * width + j] = equal(old[i], now[j])
        ? length(i + 1, j + 1) + 1
        : Math.max(length(i + 1, j), length(i, j + 1));
  const [gone, come]: [number[], number[]] = [[], []];
  let [i, j] = [0, 0];
  while (i < old.length && j < now.length) {
    if (equal(old[i], now[j])) [i, j] = [i + 1, j + 1];
    else if (length(i + 1, j) >= length(i, j + 1)) gone.push(i++);
    else come.push(j++);
  }
  while (i < old.length) gone.push(i++);
  while (j < now.length) come.push(j++);
  return [gone, come];
}
