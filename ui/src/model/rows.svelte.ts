// Loads the rows of the open view in pages: rows on screen, some around them, and rows in the direction of scrolling.
// Outdated rows stay on screen until the new ones are loaded, so that no frame is blank.
import { asFault, type Fault, type Host, type ViewRow } from '../host/host';

const PAGE = 64;
/** How many pages are kept; the least recently loaded ones are dropped first. */
const MOST_PAGES = 40;
/** How many pages one query loads at most. */
const MOST_ASKED = 8;

type Page = { rows: ViewRow[]; isFresh: boolean };
type Span = { first: number; last: number };

export class RowPages {
  /** The number of rows, according to the shown rows. */
  total = $state.raw(0);
  fault: Fault | null = $state.raw(null);
  /** Increases when shown rows change, for code that draws on a canvas. */
  version = $state.raw(0);

  #view: number | null = null;
  #pages = new Map<number, Page>();
  #want: Span = { first: 0, last: 40 };
  #direction = 1;
  /** The number of rows, according to the newest update. */
  #known = 0;
  #at: number | null = null;
  #isBusy = false;
  /** Increases with everything that makes a pending answer useless: another view, folds, a filter. */
  #round = 0;
  /** Whether rows have moved, so that rows that are not in the next answer must be dropped. */
  #isMoved = false;
  /** The first row that changed while a query was pending. */
  #changedFrom = Infinity;
  #waiting: (() => void)[] = [];

  constructor(readonly host: Host) {}

  /** `page`: the first rows, if they are already known. */
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

  /** The row at an index, if it is loaded. */
  get(index: number): ViewRow | undefined {
    void this.version;
    return this.#pages.get(Math.floor(index / PAGE))?.rows[index % PAGE];
  }

  /** The index of a row among the loaded ones. */
  indexOf(isWanted: (row: ViewRow) => boolean): number {
    void this.version;
    for (const [page, { rows }] of this.#pages) {
      const at = rows.findIndex(isWanted);
      if (at >= 0 && page * PAGE + at < this.total) return page * PAGE + at;
    }
    return -1;
  }

  /** The blocks among the loaded rows. */
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

  /** Sets the rows on screen. Loads them and some around them. */
  show(first: number, last: number): void {
    if (first !== this.#want.first) this.#direction = first < this.#want.first ? -1 : 1;
    this.#want = { first, last };
    void this.#read();
  }

  /** Sets the instant of the shown statuses; null for the newest. */
  instant(at: number | null): void {
    if (at === this.#at) return;
    this.#at = at;
    this.#stale(0);
    void this.#read();
  }

  /** The request has new events: rows from `changedFrom` on may differ. */
  advance(rows: number, changedFrom: number): void {
    this.#known = rows;
    this.#stale(changedFrom);
    void this.#read();
  }

  /** Runs an action that moves rows, such as a fold or a filter. The old rows stay until the new ones are loaded. */
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

  /** Resolves when all rows on screen are up to date. */
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
    // An update during the query is newer than this answer.
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

  /** The pages to load next: on screen first, then in the direction of scrolling, then in the other direction. */
  #missing(): Span | null {
    if (this.#view === null || this.#known === 0) {
      if (this.#known === 0 && this.#isMoved) this.#keep({ first: 0, last: -1 }, [], 0, true);
      return null;
    }
    const room = Math.max(1, this.#want.last - this.#want.first);
    // If the end is on screen, rows that were added to it are, too.
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
