// The open request: its row, its counts and the view of its blocks, kept current by updates. It holds no block but
// those on screen; payloads, state and items belong to whoever shows them.
import { nextFrame } from '../base/frame';
import { asFault, type Counts, type Fault, type Host, type ItemsUpdate, type RequestRow } from '../host/host';
import type { Sums, ViewBatch, ViewHead, ViewUpdate } from '../host/host';
import { Ahead, closeView, openView, type Opened } from './opening';
import { passedSince, type Pause } from './pause';
import { Progress } from './progress.svelte';
import { RowFilter } from './row-filter.svelte';
import { RunClock } from './run-clock.svelte';
import { isOver } from './status';
import { NO_COUNTS, NO_SUMS } from './totals';
import { ViewReads } from './view-reads';

export class OpenRequest extends ViewReads {
  id: string | null = $state.raw(null);
  row: RequestRow | null = $state.raw(null);
  /** The newest execution of the root block. */
  root: string | null = $state.raw(null);
  /** The newest event that is included in what is shown. */
  seq = $state.raw(0);
  counts: Counts = $state.raw(NO_COUNTS);
  /** What its blocks asked of models and wrote; apart from that, the answers that a fork has from its original. */
  sums: Sums = $state.raw(NO_SUMS);
  kept: Sums | null = $state.raw(null);
  /** What another sample of an experiment paid for. */
  shared: Sums | null = $state.raw(null);
  /** When its first and its newest event were. */
  from = $state.raw(0);
  to = $state.raw(1);
  /** Of a fork: the time between what it shares with its original and its own first event. */
  pause: Pause | null = $state.raw(null);
  /** The instant before the first block: what every scope was when the request began. */
  start = $state.raw(0);
  fault: Fault | null = $state.raw(null);
  loading = $state(false);
  /** The first words of what it was asked. */
  words: string | null = $state.raw(null);
  /** As it was opened: the block that failed or asked then. */
  opened: Pick<ViewHead, 'seq' | 'cause'> | null = null;
  readonly filtering = new RowFilter();
  readonly progress = new Progress();
  /** The filter that the rows follow. */
  readonly filter = $derived(this.filtering.text);
  readonly live = $derived.by(() => this.row !== null && !isOver(this.row.status) && !this.host.isCopy);

  #isWatchingItems = false;
  #round = 0;
  /** Whether a view is being opened: its updates may overtake the answer that names it. */
  #isEntering = false;
  #connected: Promise<void> = Promise.resolve();
  #disconnect = () => {};
  /** The request that is about to be shown in the place of this one. */
  #ahead: Ahead | null = null;
  /** Updates that came before the answer that names their view. */
  readonly #early = new Map<number, ViewUpdate>();
  /** While the request runs, so that running bars grow. */
  readonly clock = new RunClock();

  constructor(
    host: Host,
    readonly onadvance: () => void,
    readonly onitems: (update: ItemsUpdate) => void = () => {},
  ) {
    super(host);
  }

  /** Listens to what advances. A request that is opened meanwhile waits, because views of before are closed by it. */
  connect(): Promise<void> {
    const connecting = this.host.viewUpdates((batch) => nextFrame(() => void this.#take(batch)));
    this.#connected = connecting.then((stop) => void (this.#disconnect = stop));
    return this.#connected;
  }

  disconnect(): void {
    this.#disconnect();
    this.forgetAhead();
    this.open(null);
  }

  get now(): number {
    return this.clock.now;
  }

  /** Reads a request ahead, so that `open` shows it at once; the open one stays as it is. */
  prepare(id: string, filter: string): Promise<void> {
    this.forgetAhead();
    this.#ahead = new Ahead(this.host, id, filter, this.#connected);
    return this.#ahead.read;
  }

  forgetAhead(): void {
    this.#ahead?.drop();
    this.#ahead = null;
  }

  open(id: string | null, filter = ''): void {
    if (id === this.id) return;
    this.#leave();
    this.id = id;
    this.row = this.root = this.fault = this.kept = this.shared = null;
    Object.assign(this, { counts: NO_COUNTS, sums: NO_SUMS, seq: 0, words: null, pause: null, opened: null });
    this.filtering.begin(filter);
    this.progress.clear();
    this.folds.clear();
    this.clock.run(false, 0);
    this.rows.instant(null);
    this.loading = this.#isEntering = false;
    const ahead = this.#ahead;
    const isAhead = ahead !== null && ahead.id === id && ahead.filter === filter;
    if (isAhead) this.#ahead = null;
    if (isAhead && ahead.opened) this.#begin(ahead.opened);
    else if (isAhead && ahead.fault) this.fault = ahead.fault;
    else if (id) void this.#enter(id);
  }

  /** Opens it anew, after a failure or in a folder that was opened again. */
  reload(): void {
    // Its view may be closed by then; it is opened when it is shown.
    this.forgetAhead();
    if (!this.id || this.#isEntering) return;
    this.#leave();
    void this.#enter(this.id);
  }

  /** The seq of the step before an instant: where its difference starts. */
  async stepBefore(seq: number): Promise<number> {
    return (await this.step(seq, 'previousEnd')) ?? (this.start < seq ? this.start : 0);
  }

  /** When an event was; null where there is none of that number. */
  async timeOf(seq: number): Promise<number | null> {
    if (seq === this.seq) return this.to;
    return this.view === null ? Promise.reject(new Error('not open')) : this.host.viewTimeOf(this.view, seq);
  }

  /** How long after its first event something was: every time of this request is shown so. */
  since = (at: number): number => passedSince(this.from, at, this.pause);

  /** Whether updates tell of items, which costs whoever tells. */
  watchItems(watching: boolean): void {
    if (watching === this.#isWatchingItems) return;
    this.#isWatchingItems = watching;
    if (this.view !== null) void this.host.viewWatchItems(this.view, watching).catch(() => {});
  }

  /** Shows only the rows that match; a wrong text leaves them as they are and says so in `filtering`. */
  setFilter(text: string): Promise<void> {
    return this.filtering.show(text, (text) =>
      this.rows.rearrange(
        (view) => this.host.viewFilter(view, text),
        ({ rows }) => rows,
      ),
    );
  }

  #leave() {
    this.#round++;
    const view = this.view;
    this.view = null;
    this.rows.open(null, 0);
    if (view !== null) closeView(this.host, view);
  }

  async #enter(id: string) {
    const round = this.#round;
    const isWanted = () => round === this.#round;
    this.loading = this.row === null;
    this.#isEntering = true;
    try {
      // Without updates it is still there to be looked at; that they failed is told to whoever asked for them.
      await this.#connected.catch(() => {});
      if (!isWanted()) return;
      const filter = () => this.filtering.wanted;
      const opened = await openView(this.host, id, { folds: this.folds, filter, isWanted });
      if (opened) this.#begin(opened);
    } catch (thrown) {
      if (isWanted()) this.fault = asFault(thrown);
    } finally {
      if (isWanted()) this.loading = this.#isEntering = false;
    }
  }

  #begin({ head, wanted, filtered, rows, pause }: Opened) {
    this.view = head.view;
    Object.assign(this, { start: head.start, words: head.words, pause, opened: head, fault: null });
    this.filtering.opened(wanted, filtered);
    this.#show(head);
    this.rows.open(head.view, rows ?? head.rows, rows === null ? head.page : undefined);
    if (this.#isWatchingItems) void this.host.viewWatchItems(head.view, true).catch(() => {});
    const early = this.#early.get(head.view);
    if (this.#ahead) this.#early.delete(head.view);
    else this.#early.clear();
    if (early) this.#advance(early);
    else this.onadvance();
  }

  /** The next batch comes when this one is on screen, so a slow window gets fewer and larger ones. */
  async #take({ batch, updates }: ViewBatch) {
    for (const update of updates) {
      if (update.view === this.view) this.#advance(update);
      else if (this.#isEntering || this.#ahead) this.#early.set(update.view, update);
    }
    await this.rows.settled();
    if (updates.some(({ view }) => view === this.view)) this.onadvance(); // The rows may tell of later ends.
    await this.host.viewAck(batch).catch(() => {});
  }

  #advance(update: ViewUpdate) {
    this.#show(update);
    this.rows.advance(update.rows, update.changedFrom);
    if (update.items) this.onitems(update.items);
    this.onadvance();
  }

  #show({ request, root, seq, counts, sums, kept = null, shared = null, from, to }: ViewHead | ViewUpdate) {
    // A request that was opened before its first block learns where it began from the first row.
    if (this.start === 0) this.start = Math.max(0, (this.rows.get(0)?.seqStart ?? 1) - 1);
    Object.assign(this, { row: request, root, seq, counts, sums, kept, shared, from, to });
    this.clock.run(this.live, from);
    this.progress.tell(this.live, counts, request.status);
  }
}
