// A host of one request that is as long as anybody likes and grows as fast as anybody likes: what the engine answered of
// one turn of a recorded loop, again and again. It says nothing true about a request; it shows what a window costs.
import { FakeHost } from './fake';
import { FakeView } from './fake-view';
import type { EventRow, FoldQuery, FoundRow, ItemsQuery, RowsQuery, StepQuery, ViewItems, ViewRow } from './host';
import type { ViewRows, ViewUpdate } from './host';
import { Recording } from './recording';
import { runs } from './recorded';

export const LOAD = 'req-load';
/** Rows that stand for themselves: the root, and the group of all turns. */
const FIRST = 2;
/** Each block has two events. */
const EVENTS_OF_A_BLOCK = 2;
const FLOOD_MS = 8;

/** How long the request is now. */
type Length = { events: number; until: number };

class LoadView extends FakeView {
  readonly #root: ViewRow;
  readonly #group: ViewRow;
  /** The rows of one turn. */
  readonly #turn: ViewRow[];
  #isFolded = false;

  constructor(
    id: number,
    recording: Recording,
    readonly length: Length,
  ) {
    super(id, recording);
    const all = recording.rows(null, '');
    const at = all.findIndex((row) => row.group?.of === 'turns');
    const end = all.findIndex((row, n) => n > at + 1 && row.depth <= (all[at + 1]?.depth ?? 0));
    this.#root = all[0] as ViewRow;
    this.#group = all[at] as ViewRow;
    this.#turn = all.slice(at + 1, end);
  }

  get #blocks() {
    return Math.floor(this.length.events / EVENTS_OF_A_BLOCK);
  }
  get #rows() {
    return FIRST + (this.#isFolded ? 0 : Math.max(0, this.#blocks - 1));
  }

  override update(): ViewUpdate {
    const { recording } = this;
    const isOver = this.length.events >= this.length.until;
    const blocks = this.#blocks;
    const counts = {
      ...recording.update.counts,
      blocks,
      finished: isOver ? blocks : blocks - 1,
      running: isOver ? 0 : 1,
    };
    const items = Math.floor(this.length.events / 10);
    return {
      ...recording.update,
      view: this.id,
      request: { ...recording.row, status: isOver ? 'completed' : 'in_progress', finishedAt: null, durationMs: null },
      seq: this.length.events,
      rows: this.#rows,
      counts: { ...counts, items },
      to: recording.update.from + this.length.events,
      changedFrom: Math.max(0, this.#rows - 2),
      items: this.isTellingItems
        ? { counts: this.#audiences(items), changedFrom: this.#audiences(Math.max(0, items - 2)) }
        : undefined,
    };
  }

  override rows({ offset, limit }: RowsQuery): ViewRows {
    const rows = this.#rows;
    const page = Array.from({ length: Math.max(0, Math.min(limit, rows - offset)) }, (_, n) => this.#row(offset + n));
    return { seq: this.length.events, rows, offset, page };
  }

  #row(place: number): ViewRow {
    if (place === 0)
      return { ...this.#root, position: 1, siblings: 1, status: 'running', durationMs: null, seqEnd: null };
    if (place === 1) return { ...this.#group, isFolded: this.#isFolded, hidden: this.#isFolded ? this.#blocks : 0 };
    const n = place - FIRST;
    const like = this.#turn[n % this.#turn.length] as ViewRow;
    const path = like.path && `${like.path}~${n}`;
    return {
      ...like,
      node: place + 1,
      path,
      instanceId: path && `${LOAD}:${path}:0`,
      startedAt: this.recording.update.from + n,
      durationMs: 1,
      seqStart: n * EVENTS_OF_A_BLOCK + 1,
      seqEnd: n * EVENTS_OF_A_BLOCK + 2,
    };
  }

  override fold({ node, folded }: FoldQuery): number {
    if (node === null || node === this.#group.node) this.#isFolded = folded;
    return this.#rows;
  }
  override rowOf(): FoundRow | null {
    return null;
  }
  override step({ seq, to }: StepQuery): number | null {
    const next = to.startsWith('next') ? seq + EVENTS_OF_A_BLOCK : seq - EVENTS_OF_A_BLOCK;
    return next > 0 && next <= this.length.events ? next : null;
  }

  override seqAt(time: number): number {
    return Math.min(this.length.events, Math.max(1, time - this.recording.update.from));
  }
  override timeOf(seq: number): number | null {
    return this.recording.update.from + seq;
  }

  items({ audience, offset, limit }: ItemsQuery): ViewItems {
    const total = Math.floor(this.length.events / 10);
    const like = new Recording(runs.chat).recorded.items.findLast(({ item }) => item.type === 'message');
    const page = Array.from({ length: Math.max(0, Math.min(limit, total - offset)) }, (_, n) => {
      const at = offset + n;
      return { ...like!, item: { ...like!.item, id: `item-${audience}-${at}`, itemIndex: at, seq: at * 10 + 1 } };
    });
    return { seq: this.length.events, total, counts: this.#audiences(total), offset, page };
  }

  #audiences(count: number) {
    return { all: count, client: count, history: count, trace: count };
  }
}

export class LoadHost extends FakeHost {
  readonly length: Length;
  #views: LoadView[] = [];
  #flood: ReturnType<typeof setInterval> | undefined;
  readonly #recording: Recording;

  /** A request that has so many events, and ends when it has as many as `until`. */
  constructor(events: number, until = events) {
    super(0, 0);
    this.length = { events, until };
    this.#recording = new Recording(runs.stress, LOAD, 'ses-load');
    this.#recording.finish();
    this.add(this.#recording);
  }

  /** Lets it grow by so many events a second until it ends. */
  flood(rate: number): Promise<void> {
    const { length } = this;
    const [before, began] = [length.events, performance.now()];
    return new Promise((resolve) => {
      this.#flood = setInterval(() => {
        const due = before + Math.floor(((performance.now() - began) / 1000) * rate);
        length.events = Math.min(length.until, due);
        this.advance(this.#recording);
        if (length.events < length.until) return;
        clearInterval(this.#flood);
        resolve();
      }, FLOOD_MS);
    });
  }

  protected override viewOf(view: number, recording: Recording): FakeView {
    if (recording !== this.#recording) return super.viewOf(view, recording);
    const opened = new LoadView(view, recording, this.length);
    this.#views.push(opened);
    return opened;
  }

  override async viewItems(view: number, query: ItemsQuery): Promise<ViewItems> {
    return this.#views.find((one) => one.id === view)?.items(query) ?? super.viewItems(view, query);
  }

  override async events(requestId: string, from: number, limit: number): Promise<EventRow[]> {
    if (requestId !== LOAD) return super.events(requestId, from, limit);
    const [like] = await super.events(requestId, 1, 1);
    const first = Math.max(1, from);
    const count = Math.max(0, Math.min(limit, this.length.events - first + 1));
    return Array.from({ length: count }, (_, n) => ({ ...(like as EventRow), seq: first + n }));
  }
}
