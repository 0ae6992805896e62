// When the event that is shown was. The log says it: begins and ends of blocks tell nothing of what is between them.
import { LatestQuery } from './latest-query.svelte';
import type { OpenRequest } from './request.svelte';

export class ShownTime {
  readonly #asked: LatestQuery<number, number | null>;

  /** `pinned` is the event that was chosen; null where the newest one is shown. */
  constructor(
    readonly request: OpenRequest,
    readonly pinned: () => number | null,
  ) {
    this.#asked = new LatestQuery((seq) => request.timeOf(seq));
  }

  /** The newest one is asked for as well, so that the first chosen one does not begin with the time of an older one. */
  look(): void {
    this.#asked.ask(this.pinned() ?? this.request.seq);
  }

  clear(): void {
    this.#asked.clear();
  }

  /** A moment behind the slider, so that nothing jumps while it is dragged; null until the first answer. */
  get at(): number | null {
    return this.pinned() === null ? this.request.to : this.#asked.answer;
  }

  /** Whether `at` is the time of the event that is shown, and not of the one before. */
  get isKnown(): boolean {
    const seq = this.pinned();
    return seq === null || this.#asked.question === seq;
  }
}
