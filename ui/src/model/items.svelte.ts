// The items of the open request for one audience, a window at a time: the newest while it follows, or those from a
// place on. A request may have a million; the page holds no more than are shown.
import {
  asFault,
  type AudienceCounts,
  type Fault,
  type ItemsUpdate,
  type ItemView,
  type ViewItems,
} from '../host/host';
import type { OpenRequest } from './request.svelte';

/** How many items are shown at once; fewer while they stream, because each of them is drawn again. */
const PAGE_SIZE = 100;
const LIVE_PAGE_SIZE = 40;
/** What streams is read so often at most. */
const PAUSE_MS = 100;

type Want = { audience: ItemView; at: number | null };

export class ItemPages {
  answer: ViewItems | null = $state.raw(null);
  fault: Fault | null = $state.raw(null);
  /** The first item that is shown; null follows the newest. */
  first: number | null = $state.raw(null);
  /** How many there are by the newest event, also while those of an instant are shown; null until that is known. */
  newest: number | null = $state.raw(null);

  readonly total = $derived(this.answer?.total ?? 0);

  #want: Want | null = null;
  #isStale = false;
  #isBusy = false;
  #round = 0;

  constructor(readonly open: OpenRequest) {}

  get counts(): AudienceCounts | null {
    return this.answer?.counts ?? null;
  }

  /** How many are shown at once. */
  get most(): number {
    return this.open.live && this.first === null ? LIVE_PAGE_SIZE : PAGE_SIZE;
  }

  clear(): void {
    this.#round++;
    this.#want = null;
    this.answer = this.fault = this.first = this.newest = null;
    this.#isStale = false;
  }

  /** The request is opened anew: what is shown stays, and is read again once it is open. */
  again(): void {
    this.#want = null;
  }

  /** Reads what an audience saw as of an event, or sees now. */
  show(audience: ItemView, at: number | null): void {
    if (this.#want?.audience === audience && this.#want.at === at) return;
    if (this.#want && this.#want.audience !== audience) this.first = null;
    this.#want = { audience, at };
    this.#read();
  }

  /** Shows those from a place on; those at the end follow what comes. */
  go(first: number): void {
    const end = Math.max(0, this.total - PAGE_SIZE);
    this.first = first >= end ? null : Math.max(0, first);
    this.#read();
  }

  earlier(): void {
    this.go((this.answer?.offset ?? 0) - PAGE_SIZE / 2);
  }

  later(): void {
    this.go((this.answer?.offset ?? 0) + PAGE_SIZE / 2);
  }

  /** The request went on: reads again what of the shown may differ. */
  advance(update: ItemsUpdate): void {
    const { answer } = this;
    this.newest = update.counts.all;
    if (!this.#want || this.#want.at !== null || !answer) return;
    const { audience } = this.#want;
    const isShown = update.changedFrom[audience] < answer.offset + answer.page.length;
    const isOther = update.counts.all !== answer.counts.all || update.counts.history !== answer.counts.history;
    if (isShown || this.first === null || isOther) this.#read();
  }

  #read(): void {
    this.#isStale = true;
    if (!this.#isBusy) void this.#work();
  }

  /** One question at a time, and always for what is wanted now. */
  async #work() {
    this.#isBusy = true;
    while (this.#isStale && this.#want) {
      this.#isStale = false;
      const round = this.#round;
      try {
        const answer = await this.#ask(this.#want);
        if (round !== this.#round) continue;
        if (answer) this.answer = answer;
        if (answer && this.#want?.at === null) this.newest = answer.counts.all;
        else if (answer && this.newest === null) await this.#count(round);
        this.fault = null;
      } catch (thrown) {
        if (round === this.#round) this.fault = asFault(thrown);
        break;
      }
      if (this.#isStale && this.open.live) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    this.#isBusy = false;
  }

  /** Of an instant in the past only what there was then is told, so the newest number is asked for once. */
  async #count(round: number) {
    const answer = await this.open.items({ audience: 'all', at: null, offset: 0, limit: 1 });
    if (answer && round === this.#round) this.newest = answer.counts.all;
  }

  async #ask({ audience, at }: Want): Promise<ViewItems | null> {
    const { most } = this;
    if (this.first !== null) return this.open.items({ audience, at, offset: this.first, limit: most });
    // Where the end is, is known from the answer before; it may have moved on meanwhile.
    const known = Math.max(0, this.total - most);
    const answer = await this.open.items({ audience, at, offset: known, limit: most });
    if (!answer || answer.offset + answer.page.length >= answer.total) {
      if (answer && answer.total > 0 && answer.page.length === 0)
        return this.open.items({ audience, at, offset: Math.max(0, answer.total - most), limit: most });
      return answer;
    }
    return this.open.items({ audience, at, offset: Math.max(0, answer.total - most), limit: most });
  }
}
