// The rows of a comparison: windows of them as they come into view, and the next difference from a row on.
import type { ComparedRow, ComparisonHead, Host } from '../../host/host';
import { asFault, type Fault } from '../../host/host';

const PAGE = 100;

export class ComparedRows {
  #pages = new Map<number, ComparedRow[]>();
  #asked = new Set<number>();
  #window = { first: 0, last: 1 };
  #version = $state(0);
  fault: Fault | null = $state.raw(null);
  /** Also blocks that are equal. */
  all = $state(false);

  constructor(
    readonly host: Host,
    readonly head: ComparisonHead,
  ) {}

  get count(): number {
    return this.all ? this.head.pairs : this.head.rows;
  }

  show(all: boolean): void {
    this.all = all;
    this.#pages.clear();
    this.#asked.clear();
    this.#version++;
  }

  /** Reads again what failed. */
  again(): void {
    this.fault = null;
    void this.look(this.#window.first, this.#window.last);
  }

  at(index: number): ComparedRow | undefined {
    void this.#version;
    return this.#pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  /** Reads what is in view and not there yet. */
  async look(first: number, last: number): Promise<void> {
    const all = this.all;
    this.#window = { first, last };
    for (let page = Math.floor(first / PAGE); page * PAGE < Math.min(last, this.count); page++) {
      if (this.#asked.has(page)) continue;
      this.#asked.add(page);
      try {
        const found = await this.host.comparisonRows(this.head.comparison, { offset: page * PAGE, limit: PAGE, all });
        if (all !== this.all) return;
        this.#pages.set(page, found);
        this.#version++;
      } catch (thrown) {
        this.fault = asFault(thrown);
        // It is read again when it is asked for again.
        this.#asked.delete(page);
        return;
      }
    }
  }

  /** The next row that differs itself; past the last one the first comes again. */
  async next(from: number | null, backwards: boolean): Promise<number | null> {
    const { all } = this;
    const ask = (start: number | null) =>
      this.host.nextDifference(this.head.comparison, { from: start, backwards, all });
    const found = (await ask(from)) ?? (from === null ? null : await ask(null));
    if (found !== null) await this.look(found, found + 1);
    return found;
  }
}
