// One open view of a request that is played: windows of its recorded rows, without those that are folded away.
import type { BlockQuery, FindQuery, FoldQuery, FoundRow, Overview, OverviewQuery, RowsQuery } from './host';
import type { StepQuery, ViewHead, ViewRow, ViewRows, ViewUpdate } from './host';
import type { Recording } from './recording';

export class FakeView {
  isTellingItems = false;
  #filter = '';
  readonly #folded: Set<number>;

  constructor(
    readonly id: number,
    readonly recording: Recording,
  ) {
    const { rows, folded, answers } = recording.recorded;
    this.#folded = new Set(folded.map((place) => rows[answers.newest[place] ?? 0]?.node ?? 0));
  }

  head(): ViewHead {
    const { changedFrom: _, items: __, ...head } = this.update();
    const { page } = this.rows({ offset: 0, limit: 64 });
    const { start, cause } = this.recording.recorded.head;
    const isOver = ['failed', 'suspended'].includes(head.request.status);
    return { ...head, page, words: this.recording.words, start, ...(isOver && cause && { cause }) };
  }

  update(): ViewUpdate {
    const { recording } = this;
    const changedFrom = { all: 0, client: 0, history: 0, trace: 0 };
    return {
      ...recording.update,
      view: this.id,
      request: { ...recording.row },
      rows: this.#shown(null).length,
      changedFrom: 0,
      items: this.isTellingItems ? { counts: recording.counts(null), changedFrom } : undefined,
    };
  }

  rows({ offset, limit, at }: RowsQuery): ViewRows {
    const shown = this.#shown(at ?? null);
    return { seq: this.recording.seq, rows: shown.length, offset, page: shown.slice(offset, offset + limit) };
  }

  fold({ node, folded }: FoldQuery): number {
    const all = this.recording.rows(null, '').filter((row) => row.hasChildren && (folded ? row.depth > 0 : true));
    for (const row of node === null ? all : [{ node }])
      if (folded) this.#folded.add(row.node);
      else this.#folded.delete(row.node);
    return this.#shown(null).length;
  }

  filter(text: string) {
    const filtered = text.trim() ? this.recording.filter(text).filtered : undefined;
    this.#filter = text.trim() ? text : '';
    return filtered ?? { rows: this.#shown(null).length, matches: 0 };
  }

  find({ text, from, backwards }: FindQuery): FoundRow | null {
    const fitting = new Set((this.recording.filter(text).rows ?? []).map((one) => this.recording.recorded.rows[one]));
    const nodes = new Set([...fitting].flatMap((row) => (row?.matches && row.instanceId ? [row.node] : [])));
    const all = this.recording.rows(null, '');
    const current = from == null ? null : this.#shown(null)[from]?.node;
    const place = all.findIndex((row) => row.node === current);
    const isFurther = (n: number) => (backwards ? place < 0 || n < place : n > place);
    const fits = (row: ViewRow, n: number) => nodes.has(row.node) && isFurther(n);
    const found = backwards ? all.findLast(fits) : all.find(fits);
    return found ? this.#reach(found) : null;
  }

  rowOf({ instanceId, path }: BlockQuery): FoundRow | null {
    const found = this.recording
      .rows(null, '')
      .findLast((row) => (row.instanceId ?? null) !== null && (row.instanceId === instanceId || row.path === path));
    return found ? this.#reach(found) : null;
  }

  blocks(instanceIds: readonly string[]): ViewRow[] {
    return this.recording.rows(null, '').filter((row) => instanceIds.includes(row.instanceId ?? ''));
  }

  step({ seq, to }: StepQuery): number | null {
    const isNext = to.startsWith('next');
    const seqs = this.recording.recorded.answers.steps[to.replace(/^(next|previous)/, '') as 'End'];
    return (isNext ? seqs.find((one) => one > seq) : seqs.findLast((one) => one < seq)) ?? null;
  }

  seqAt(time: number): number {
    const { events, recorded } = this.recording;
    return events.findLast((event) => event.at <= time && event.seq > recorded.head.start)?.seq ?? recorded.head.start;
  }

  timeOf(seq: number): number | null {
    return this.recording.events[seq - 1]?.at ?? null;
  }

  /** The cells of the whole request, as many as are asked for: each counts for the one that its middle falls into. */
  overview({ width, from, to }: OverviewQuery): Overview {
    const { overview } = this.recording.recorded.answers;
    const range = { from: from ?? overview.from, to: to ?? overview.to };
    const cells = Array<number>(width).fill(0);
    const failures = Array<number>(width).fill(0);
    overview.cells.forEach((count, n) => {
      const middle = overview.from + ((n + 0.5) / overview.cells.length) * (overview.to - overview.from);
      const cell = Math.floor(((middle - range.from) / Math.max(1, range.to - range.from)) * width);
      if (cell < 0 || cell >= width) return;
      cells[cell]! += count;
      failures[cell]! += overview.failures[n] ?? 0;
    });
    return { ...overview, ...range, cells, failures };
  }

  /** Unfolds what hides a row. */
  #reach({ node, instanceId }: ViewRow): FoundRow {
    const all = this.recording.rows(null, '');
    const place = all.findIndex((row) => row.node === node);
    let depth = all[place]?.depth ?? 0;
    for (let n = place - 1; n >= 0 && depth > 0; n--) {
      const above = all[n] as ViewRow;
      if (above.depth >= depth) continue;
      depth = above.depth;
      this.#folded.delete(above.node);
    }
    return { row: this.#shown(null).findIndex((row) => row.node === node), node, instanceId: instanceId ?? '' };
  }

  #shown(at: number | null): ViewRow[] {
    const all = this.recording.rows(at, this.#filter);
    if (this.#filter) return all;
    const shown: ViewRow[] = [];
    for (let n = 0; n < all.length;) {
      const row = all[n++] as ViewRow;
      const first = n;
      if (this.#folded.has(row.node)) while ((all[n]?.depth ?? -1) > row.depth) n++;
      shown.push(n > first ? { ...row, isFolded: true, hidden: n - first } : row);
    }
    return shown;
  }
}
