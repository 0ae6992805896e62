// The runs of the folder by a filter and in an order: how many there are, the rows in view, and which of them are
// selected. Rows are read a page at a time, so that a hundred thousand runs cost no more than a screenful.
import { termsOf } from '../base/day-terms';
import { asFault, type Fault, type Host, type RunRow, type RunSort } from '../host/host';
import { ALL_RUNS, type RunsPlace } from '../place';
import { mostRuns, pagesIn, RUN_PAGE, type Range } from './run-pages';
import { RunSelection } from './run-selection.svelte';
import { RunsChartData } from './runs-chart.svelte';

/** Pages that are kept; those that were looked at last. */
const MAX_PAGES = 24;
/** A run that is going on changes many times a second, and nobody reads so fast. */
const READ_EVERY_MS = 400;

/** Whether a filter lists samples of experiments: it asks for them, or for one session. */
const listsSamples = (filter: string) => termsOf(filter).some((term) => /^(-?is:sample$|session:)/.test(term));

export class Runs extends RunSelection {
  /** What the rows are of. */
  place: RunsPlace = $state.raw(ALL_RUNS);
  /** How many runs fit the filter; null before that is known. */
  count: number | null = $state.raw(null);
  /** How many runs there are without a filter, with samples if the filter lists them; how many samples of experiments fit
   * the filter and are left out. */
  total: number | null = $state.raw(null);
  samples = $state.raw(0);
  readonly chart: RunsChartData;
  /** Why the rows could not be read. What was read before stays. */
  fault: Fault | null = $state.raw(null);
  busy = $state(false);
  /** The filter that `count` and `fault` are about. */
  judged: string | null = $state.raw(null);
  /** The row that the keys act on. It goes with its run if others come or go above it. */
  cursor = $state(0);
  /** By how many rows the run at the cursor has moved since the rows were read before. */
  moved: { by: number } = $state.raw({ by: 0 });
  #pages: ReadonlyMap<number, RunRow[]> = $state.raw(new Map());
  #range: Range = { first: 0, last: 0 };
  #round = 0;
  #isOpen = false;
  #isStale = false;
  #isFilling = false;
  /** Whether rows showed that there are fewer runs than were counted. */
  #isShorter = false;

  constructor(readonly host: Host) {
    super();
    this.chart = new RunsChartData(host);
  }

  /** The page is on screen, at this place. */
  open(place: RunsPlace): void {
    const isSame = JSON.stringify(place) === JSON.stringify(this.place);
    const wasOpen = this.#isOpen;
    this.#isOpen = true;
    if (isSame && wasOpen) return;
    const isOtherFilter = place.runs !== this.place.runs || this.judged === null;
    this.place = place;
    this.#round++;
    // A person who comes back goes on at the row that was opened.
    if (!isSame) this.cursor = this.anchor = 0;
    this.#isStale = false;
    if (isOtherFilter) this.selected = new Map();
    // Time has passed since the page was left, and prices may have changed: either changes what a filter finds.
    const isCounted = isOtherFilter || !wasOpen;
    if (isCounted) this.chart.expire();
    void this.#read(isCounted);
  }

  close(): void {
    this.#isOpen = false;
    this.chart.stop();
  }

  /** Requests came, changed or went. */
  changed(): void {
    if (!this.#isOpen) return void (this.judged = null);
    this.#isStale = true;
    if (!this.busy) void this.#read(true);
  }

  /** Another folder is open. */
  clear(): void {
    this.#round++;
    this.close();
    this.place = ALL_RUNS;
    this.count = this.total = this.fault = this.judged = null;
    [this.samples, this.busy, this.#isStale] = [0, false, false];
    this.chart.clear();
    [this.#pages, this.selected] = [new Map(), new Map()];
  }

  rowAt(index: number): RunRow | null {
    return this.#pages.get(Math.floor(index / RUN_PAGE))?.[index % RUN_PAGE] ?? null;
  }

  /** These rows are in view. */
  look(first: number, last: number): void {
    this.#range = { first, last };
    void this.#fill();
  }

  protected async idsOf(offset: number, limit: number): Promise<string[] | null> {
    const round = this.#round;
    const ids = await this.host.runIds({ ...this.#query(), offset, limit });
    return round === this.#round ? ids : null;
  }

  protected known(): Map<string, RunRow> {
    return new Map([...this.#pages.values()].flat().map((row) => [row.id, row]));
  }

  #query() {
    const { runs, sort, descending } = this.place;
    return { filter: runs, sort: sort as RunSort, descending };
  }

  /** Reads the rows in view again, and how many there are. */
  async #read(withCount: boolean) {
    const round = this.#round;
    this.busy = true;
    try {
      do {
        this.#isStale = false;
        await this.#front(round, withCount);
        if (round !== this.#round) return;
        withCount = true;
        this.chart.read(this.place.runs);
        await new Promise((resolve) => setTimeout(resolve, READ_EVERY_MS));
      } while (this.#isStale && round === this.#round && this.#isOpen);
    } catch (thrown) {
      if (round === this.#round) [this.fault, this.judged] = [asFault(thrown), this.place.runs];
    } finally {
      if (round === this.#round) this.busy = false;
    }
  }

  async #front(round: number, withCount: boolean) {
    const { runs } = this.place;
    const isFirst = this.judged !== runs || this.fault !== null;
    const pages = isFirst ? [0] : pagesIn(this.#range, this.count);
    const [count, total, samples, ...rows] = await Promise.all([
      withCount || this.count === null ? this.host.countRuns(runs) : this.count,
      runs === '' ? null : this.total === null || withCount || isFirst ? this.#all(runs) : this.total,
      withCount || isFirst ? this.host.samplesLeftOut(runs) : this.samples,
      ...pages.map((page) => this.#page(page)),
    ]);
    if (round !== this.#round) return;
    const read = new Map(pages.map((page, at) => [page, rows[at] ?? []]));
    if (!isFirst) this.#follow(read);
    const isFewer = this.#isShorter || (this.count !== null && count < this.count);
    this.#isShorter = false;
    this.count = Math.min(count, ...[...read].map(([page, rows]) => mostRuns(page, rows)));
    // The count is older than the rows.
    if (this.count < count && !withCount) this.#isStale = true;
    [this.total, this.samples] = [total ?? this.count, samples];
    this.#pages = read;
    this.fault = null;
    this.judged = runs;
    this.cursor = Math.max(0, Math.min(this.cursor, this.count - 1));
    void this.#fill();
    await this.reread(isFewer);
  }

  /** How many runs there are of the kinds that a filter lists. */
  async #all(filter: string): Promise<number> {
    const [runs, samples] = await Promise.all([
      this.host.countRuns(''),
      listsSamples(filter) ? this.host.samplesLeftOut('') : 0,
    ]);
    return runs + samples;
  }

  /** Lets the cursor, and where a range begins, stay at their runs. */
  #follow(read: ReadonlyMap<number, RunRow[]>) {
    const places = new Map<string, number>();
    for (const [page, rows] of read) rows.forEach((row, at) => places.set(row.id, page * RUN_PAGE + at));
    const placeOf = (index: number) => places.get(this.rowAt(index)?.id ?? '') ?? index;
    const [cursor, anchor] = [placeOf(this.cursor), placeOf(this.anchor)];
    if (cursor !== this.cursor) this.moved = { by: cursor - this.cursor };
    [this.cursor, this.anchor] = [cursor, anchor];
  }

  #page(page: number): Promise<RunRow[]> {
    return this.host.runs({ ...this.#query(), offset: page * RUN_PAGE, limit: RUN_PAGE });
  }

  /** Reads the pages in view that are missing, one after the other: what was scrolled past meanwhile is left out. */
  async #fill() {
    if (this.#isFilling || this.count === null) return;
    this.#isFilling = true;
    try {
      for (;;) {
        const round = this.#round;
        const missing = pagesIn(this.#range, this.count).find((page) => !this.#pages.has(page));
        if (missing === undefined) return;
        const rows = await this.#page(missing);
        if (round !== this.#round) continue;
        const kept = [...this.#pages].filter(([page]) => page !== missing).slice(1 - MAX_PAGES);
        this.#pages = new Map([...kept, [missing, rows]]);
        const most = mostRuns(missing, rows);
        if (most >= this.count) continue;
        // Fewer came than were counted: time passed, or runs were deleted.
        this.count = most;
        this.#isShorter = true;
        this.changed();
      }
    } catch (thrown) {
      this.fault = asFault(thrown);
    } finally {
      this.#isFilling = false;
    }
  }
}
