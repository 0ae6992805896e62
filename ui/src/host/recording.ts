// One request of the recorded host: answers that the engine gave, played at another time and under another id. What was
// told while it ran stands in frames; at the last one it has ended. Nothing is worked out here that the engine decides.
import type {
  Audience,
  AudienceCounts,
  BlockDetail,
  BlockRow,
  Change,
  CheckpointRow,
  EventRow,
  Fault,
  Filtered,
  Item,
  ItemsQuery,
  Overview,
  Replay,
  RequestRow,
  RunOptions,
  StateView,
  ViewCalls,
  ViewHead,
  ViewItem,
  ViewItems,
  ViewRow,
  ViewUpdate,
  WriteRow,
} from './host';

type Seen = Partial<Record<Audience, number[]>>;
type Filter = { filtered?: Filtered; rows?: number[]; fault?: Fault };

/** A file of `recorded/`, as `tests/it/recorded.rs` writes it. Rows and items are named by their places in the tables. */
export type Recorded = {
  run: RunOptions;
  head: ViewHead;
  calls: ViewCalls;
  /** Places of the rows that begin folded. */
  folded: number[];
  frames: { update: ViewUpdate; rows: number[]; items: Seen }[];
  rows: ViewRow[];
  items: ViewItem[];
  answers: {
    events: EventRow[];
    newest: number[];
    /** Of a long request only those that show it as a whole. */
    blocks: Record<string, BlockDetail>;
    spans: BlockRow[];
    filters: Record<string, Filter>;
    overview: Overview;
    history: Record<string, WriteRow[]>;
    checkpoints: CheckpointRow[];
    replay: Replay;
    steps: Record<'End' | 'Failure' | 'Boundary', number[]>;
    /** What stands from an event on, until the next one that is named. */
    rowsAt?: [number, number[]][];
    itemsAt?: [number, Seen][];
    states: [number, Omit<StateView, 'seq' | 'at'>][];
    diffs: Record<string, Change[]>;
  };
};

export const notRecorded = (what: string): Fault => ({
  kind: 'notFound',
  message: `The recording has no answer to ${what}.`,
});

const standingAt = <T>(list: [number, T][] | undefined, seq: number) =>
  list?.findLast(([from]) => from <= seq) ?? list?.[0];

export class Recording {
  readonly recorded: Recorded;
  #frame = 0;
  #aborted: RequestRow | null = null;

  /** `text` is the file. Ids and times in it become those of this recording. */
  constructor(text: string, id: string | null = null, sessionId: string | null = null, startedAt = Date.now()) {
    const run = (JSON.parse(/"run": (\{.*?\n \}),/s.exec(text)?.[1] ?? '{}') ?? {}) as RunOptions;
    const first = Number(/"startedAt": ?(\d{13})/.exec(text)?.[1] ?? startedAt);
    const request = /"requestId":"(req-\d)"|"id":"(req-\d)"/.exec(text)?.slice(1).find(Boolean) ?? '';
    const names: Record<string, string> = {
      [request]: id ?? request,
      [String(run.sessionId)]: sessionId ?? String(run.sessionId),
    };
    const pattern = new RegExp(`\\b(?:${Object.keys(names).join('|')}|1[678]\\d{11})\\b`, 'g');
    const moved = text.replace(
      pattern,
      (found) => names[found] ?? String(Number(found) - first + Math.floor(startedAt)),
    );
    this.recorded = JSON.parse(moved) as Recorded;
  }

  /** Goes one frame on; false at the last one. */
  advance(): boolean {
    if (this.#aborted || this.#frame >= this.recorded.frames.length - 1) return false;
    this.#frame++;
    return true;
  }
  finish(): void {
    this.#frame = this.recorded.frames.length - 1;
  }
  abort(at: number): void {
    const { row } = this;
    this.#aborted = { ...row, status: 'aborted', finishedAt: at, durationMs: at - row.startedAt };
  }

  get #now() {
    return this.recorded.frames[this.#frame] as Recorded['frames'][number];
  }
  get isOver(): boolean {
    return this.#frame === this.recorded.frames.length - 1;
  }
  get row(): RequestRow {
    return this.#aborted ?? this.update.request;
  }
  /** The first words of what it was asked. */
  get words(): string | null {
    return this.recorded.head.words;
  }
  get update(): ViewUpdate {
    return this.#now.update;
  }
  get seq(): number {
    return this.update.seq;
  }
  get events(): EventRow[] {
    return this.recorded.answers.events.slice(0, this.seq);
  }

  /** All rows, unfolded: the newest, or as of an event, or those that a filter leaves. */
  rows(at: number | null, filter: string): ViewRow[] {
    const { recorded } = this;
    const numbered = (list: readonly number[]) => list.map((number) => recorded.rows[number] as ViewRow);
    const left = filter ? numbered(this.filter(filter).rows ?? []) : numbered(this.#now.rows);
    if (at === null) return left;
    const then = new Map(numbered(standingAt(recorded.answers.rowsAt, at)?.[1] ?? []).map((row) => [row.node, row]));
    return left.map((row) => {
      const { depth, position, siblings, matches } = row;
      return { ...(then.get(row.node) ?? row), depth, position, siblings, matches };
    });
  }

  filter(text: string): Filter {
    const found = this.recorded.answers.filters[text];
    if (!found) throw notRecorded(`the filter “${text}”`);
    if (found.fault) throw found.fault;
    return found;
  }

  /** Its executions, as far as they have begun. */
  blocks(): readonly BlockRow[] {
    return this.recorded.answers.spans.filter((block) => block.seqStart <= this.seq);
  }

  /** Everything an audience sees now. */
  itemsOf(audience: Audience): Item[] {
    return (this.#seen(null)[audience] ?? []).map((number) => (this.recorded.items[number] as ViewItem).item);
  }
  items({ audience, offset, limit, at }: ItemsQuery): ViewItems {
    const seen = this.#seen(at ?? null);
    const all = seen[audience] ?? [];
    const page = all.slice(offset, offset + limit).map((number) => this.recorded.items[number] as ViewItem);
    return { seq: this.seq, total: all.length, counts: this.counts(at ?? null), offset, page };
  }
  counts(at: number | null): AudienceCounts {
    const seen = this.#seen(at);
    const count = (audience: Audience) => seen[audience]?.length ?? 0;
    return { all: count('all'), client: count('client'), history: count('history'), trace: count('trace') };
  }
  #seen(at: number | null): Seen {
    return at === null ? this.#now.items : (standingAt(this.recorded.answers.itemsAt, at)?.[1] ?? {});
  }

  stateAt(seq: number): StateView {
    const at = this.recorded.answers.events[seq - 1]?.at ?? this.row.startedAt;
    return { seq, at, ...standingAt(this.recorded.answers.states, seq)?.[1] } as StateView;
  }
  diff(from: number, to: number): Change[] {
    const { states, diffs } = this.recorded.answers;
    const [one, other] = [standingAt(states, from)?.[0], standingAt(states, to)?.[0]];
    return one === other ? [] : (diffs[`${one} ${other}`] ?? []);
  }
}
