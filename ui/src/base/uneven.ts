// Where rows of different heights begin in a list, and which of them is at a place. Pure.

/** The place of every row, and after the last one the height of all. */
export function topsOf(count: number, height: (index: number) => number): Float64Array {
  const tops = new Float64Array(count + 1);
  for (let n = 0; n < count; n++) tops[n + 1] = (tops[n] ?? 0) + height(n);
  return tops;
}

/** The row at a place: the first one before the list, the last one after it. */
export function firstAt(tops: Float64Array, place: number): number {
  let [low, high] = [0, Math.max(0, tops.length - 2)];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((tops[middle] ?? 0) <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}
