// The rows of the open view, a window at a time: what is on screen, a little around it, and what the view is scrolled
// towards. Rows that may have changed stay on screen until the new ones are there, so that no frame is blank.
import { asFault, type Fault, type Host, type ViewRow } from '../host/host';

const PAGE = 64;
/** Rows that are kept; the ones read longest ago are forgotten first. */
const MOST_PAGES = 40;
/** The most rows one question asks for. */
const MOST_ASKED = 8;

type Page = { rows: ViewRow[]; isFresh: boolean };
type Span = { first: number; last: number };

export class RowPages {
  /** How many rows there are, as of the rows that are shown. */
  total = $state.raw(0);
  fault: Fault | null = $state.raw(null);
  /** Grows with whatever is shown, for those who draw by hand. */
  version = $state.raw(0);

  #view: number | null = null;
  #pages = new Map<number, Page>();
  #want: Span = { first: 0, last: 40 };
  #direction = 1;
  /** How many rows there are by the newest that was told. */
  #known = 0;
  #at: number | null = null;
  #isBusy = false;
  /** Grows with everything that makes an answer under way useless: another view, folds, a filter. */
  #round = 0;
  /** Whether rows stand elsewhere than before, so that what is not in the next answer must go. */
  #isMoved = false;
  /** From which row on something changed while a question was under way. */
  #changedFrom = Infinity;
  #waiting: (() => void)[] = [];

  constructor(readonly host: Host) {}

  /** `page` are the first rows as of now, where they are known. */
  open(view: number | null, rows: number, page: ViewRow[] = []): void {
    this.#round++;
    this.#view = view;
    this.#pages = new Map();
    this.#known = rows;
    this.#isMoved = false;
    this.#want = { first: 0, last: 40 };
    this.total = 0;
    this.fault = null;
    this.version++;
    if (page.length > 0 && this.#at === null) {
      this.#pages.set(0, { rows: page.slice(0, PAGE), isFresh: page.length >= Math.min(PAGE, rows) });
      this.total = rows;
    }
    if (view !== null) void this.#read();
  }

  /** The row at a place, if it was read. */
  get(index: number): ViewRow | undefined {
    void this.version;
    return this.#pages.get(Math.floor(index / PAGE))?.rows[index % PAGE];
  }

  /** Where a node stands, among what was read. */
  indexOf(isWanted: (row: ViewRow) => boolean): number {
    void this.version;
    for (const [page, { rows }] of this.#pages) {
      const at = rows.findIndex(isWanted);
      if (at >= 0 && page * PAGE + at < this.total) return page * PAGE + at;
    }
    return -1;
  }

  /** The blocks among what was read. */
  blocks(): { path: string; attempt: number; instanceId: string }[] {
    void this.version;
    return [...this.#pages.values()].flatMap(({ rows }) =>
      rows.flatMap(({ path, attempt, instanceId }) =>
        path && instanceId ? [{ path, attempt: attempt ?? 0, instanceId }] : [],
      ),
    );
  }

  find(instanceId: string): ViewRow | undefined {
    const at = this.indexOf((row) => row.instanceId === instanceId);
    return at < 0 ? undefined : this.get(at);
  }

  /** Which rows are on screen; they and some around them are read. */
  show(first: number, last: number): void {
    if (first !== this.#want.first) this.#direction = first < this.#want.first ? -1 : 1;
    this.#want = { first, last };
    void this.#read();
  }

  /** The instant that statuses are as of; null for the newest. */
  instant(at: number | null): void {
    if (at === this.#at) return;
    this.#at = at;
    this.#stale(0);
    void this.#read();
  }

  /** The request went on: rows from one on may differ. */
  advance(rows: number, changedFrom: number): void {
    this.#known = rows;
    this.#stale(changedFrom);
    void this.#read();
  }

  /** Folds, filters: whatever moves rows. The old ones stay until the new ones can take their place at once. */
  async rearrange<T>(act: (view: number) => Promise<T>, rowsOf: (answer: T) => number | null): Promise<T | null> {
    const view = this.#view;
    if (view === null) return null;
    const round = ++this.#round;
    const answer = await act(view);
    if (round !== this.#round || view !== this.#view) return answer;
    this.#round++;
    this.#known = rowsOf(answer) ?? this.#known;
    this.#isMoved = true;
    this.#stale(0);
    void this.#read();
    await this.settled();
    return answer;
  }

  /** When everything on screen is as new as what was told. */
  settled(): Promise<void> {
    if (!this.#isBusy) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #stale(from: number) {
    this.#changedFrom = Math.min(this.#changedFrom, from);
    for (const [page, one] of this.#pages) if ((page + 1) * PAGE > from) one.isFresh = false;
  }

  async #read() {
    if (this.#isBusy) return;
    this.#isBusy = true;
    for (let span = this.#missing(); span; span = this.#missing()) {
      const [round, at, view] = [this.#round, this.#at, this.#view];
      if (view === null) break;
      this.#changedFrom = Infinity;
      const offset = span.first * PAGE;
      try {
        const answer = await this.host.viewRows(view, { offset, limit: (span.last - span.first + 1) * PAGE, at });
        if (round === this.#round) this.#keep(span, answer.page, answer.rows, at === this.#at);
        this.fault = null;
      } catch (thrown) {
        if (round !== this.#round) continue;
        this.fault = asFault(thrown);
        break;
      }
    }
    this.#isBusy = false;
    if (this.total !== this.#known && !this.fault && this.#view !== null) this.total = this.#known;
    this.#tell();
  }

  #keep({ first, last }: Span, rows: ViewRow[], total: number, isCurrent: boolean) {
    if (this.#isMoved) this.#pages = new Map();
    this.#isMoved = false;
    // An update that came meanwhile knows more than this answer.
    this.#known = this.#changedFrom === Infinity ? total : Math.max(this.#known, total);
    for (let page = first; page <= last; page++) {
      this.#pages.delete(page);
      const isFresh = isCurrent && (page + 1) * PAGE <= this.#changedFrom;
      const slice = rows.slice((page - first) * PAGE, (page - first + 1) * PAGE);
      if (slice.length > 0) this.#pages.set(page, { rows: slice, isFresh });
    }
    for (const page of this.#pages.keys()) {
      if (this.#pages.size <= MOST_PAGES && page * PAGE < total) continue;
      if (page >= first && page <= last) continue;
      this.#pages.delete(page);
    }
    this.total = total;
    this.version++;
  }

  /** The pages to read next: on screen first, then where the list is scrolled to, then just behind. */
  #missing(): Span | null {
    if (this.#view === null || this.#known === 0) {
      if (this.#known === 0 && this.#isMoved) this.#keep({ first: 0, last: -1 }, [], 0, true);
      return null;
    }
    const room = Math.max(1, this.#want.last - this.#want.first);
    // Whoever sees the end also sees what was added to it.
    const isEnd = this.#want.last >= this.total;
    const last = isEnd ? this.#known : Math.min(this.#want.last, this.#known);
    const first = Math.max(0, isEnd ? Math.min(this.#want.first, last - room) : this.#want.first);
    const shown = this.#gap(first, last, (page) => page?.isFresh === true);
    if (shown) return shown;
    this.#tell();
    const isRead = (page: Page | undefined) => page !== undefined;
    const [below, above] = [this.#gap(last, last + room, isRead), this.#gap(first - room, first, isRead)];
    return (this.#direction > 0 ? below : above) ?? below ?? above;
  }

  #gap(from: number, to: number, isThere: (page: Page | undefined) => boolean): Span | null {
    const [start, end] = [Math.max(0, from), Math.min(this.#known, to)];
    if (end <= start) return null;
    let [first, last] = [Math.floor(start / PAGE), Math.floor((end - 1) / PAGE)];
    if (last - first >= MOST_ASKED) first = last - MOST_ASKED + 1;
    while (first <= last && isThere(this.#pages.get(first))) first++;
    while (last > first && isThere(this.#pages.get(last))) last--;
    return first <= last ? { first, last } : null;
  }

  #tell() {
    for (const go of this.#waiting.splice(0)) go();
  }
}
