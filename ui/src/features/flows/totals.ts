// How the blocks of an action did over several runs, by the place they have in its shape. Pure.
import { duration } from '../../base/time';
import type { BlockSum, BlockSums } from '../../host/host';

export class BlockTotals {
  readonly #byPlace: ReadonlyMap<string, BlockSum>;

  constructor(sums: BlockSums) {
    this.#byPlace = new Map(sums.blocks.map((one) => [one.place, one]));
  }

  at(place: string): BlockSum | null {
    return this.#byPlace.get(place) ?? null;
  }

  /** A block whose place only a run decides: by its name, inside of the block around it. */
  inside(around: string, name: string): BlockSum | null {
    for (const [place, one] of this.#byPlace) if (place.startsWith(`${around}/`) && one.name === name) return one;
    return null;
  }
}

/** `1.2 s usually, 8 s at most 95 of 100 times`, in short. */
export function sumWords({ medianMs, p95Ms, totalMs }: BlockSum): string {
  if (medianMs == null) return 'never ended';
  const usual = `median ${duration(medianMs)}`;
  const slow = p95Ms != null && p95Ms > medianMs ? ` · p95 ${duration(p95Ms)}` : '';
  return `${usual}${slow} · ${duration(totalMs)} in all`;
}
