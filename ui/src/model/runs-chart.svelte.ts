// What the runs of a filter come to by day: read again at most every two seconds, because it reads all runs.
import { chartedBy } from '../base/day-terms';
import type { Host, RunsSummary } from '../host/host';

const EVERY_MS = 2_000;

export class RunsChartData {
  summary: RunsSummary | null = $state.raw(null);
  /** The filter that `summary` is of. */
  #of: string | null = $state.raw(null);
  /** The filter that is read next. */
  #wanted = '';
  #timer: ReturnType<typeof setTimeout> | undefined;
  #readAt = 0;

  constructor(readonly host: Host) {}

  /** Whether the summary is of these runs. */
  isOf(runs: string): boolean {
    return this.#of === chartedBy(runs);
  }

  /** The next reading comes at once. */
  expire(): void {
    this.#readAt = 0;
  }

  read(runs: string): void {
    clearTimeout(this.#timer);
    this.#wanted = chartedBy(runs);
    const wait = this.#readAt === 0 ? 0 : Math.max(0, this.#readAt + EVERY_MS - performance.now());
    this.#timer = setTimeout(() => void this.#read(), wait);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  clear(): void {
    this.stop();
    this.summary = this.#of = null;
  }

  async #read() {
    const filter = this.#wanted;
    this.#readAt = performance.now();
    const summary = await this.host.runsSummary(filter).catch(() => null);
    if (filter !== this.#wanted) return;
    // What could not be read leaves what was there before, if it is of this filter.
    if (summary === null && this.#of === filter) return;
    [this.summary, this.#of] = [summary, filter];
  }
}
