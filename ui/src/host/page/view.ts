// The view of a page's rows: what is folded, what a filter leaves, and where one goes from a row or an event. It holds
// the rows that are shown as a list, which is made anew when a person folds or filters.
import type { BlockQuery, Filtered, FindQuery, FoldQuery, FoundRow, Overview, OverviewQuery } from '../bindings';
import type { RowsQuery, StepQuery, ViewRow, ViewRows } from '../bindings';
import { partOf } from './groups';
import type { PageRows } from './rows';

export type Stops = Record<'End' | 'Failure' | 'Boundary', ArrayLike<number>>;
/** Which blocks a filter's text fits, by row. */
export type Fits = (text: string) => Promise<((row: number) => boolean) | null>;

const FAILURES = new Set(['failed', 'returned_error', 'timed_out']);
const MAX_GAPS = 200;
const SHORTEST_GAP_MS = 100;

export class PageView {
  readonly #folded = new Set<number>();
  #matches: Uint8Array | null = null;
  /** Rows that a filter leaves: those that fit, and what is around them. */
  #left: Uint8Array | null = null;
  #shown: number[] = [];
  /** The place of each row among those that are shown; -1 for one that is not. */
  readonly #place: Int32Array;
  #hidden = new Map<number, number>();

  constructor(
    readonly rows: PageRows,
    readonly seq: number,
    readonly stops: Stops,
    readonly overviewOfAll: Pick<Overview, 'from' | 'to' | 'gaps' | 'critical'>,
    readonly fits: Fits,
  ) {
    this.#place = new Int32Array(rows.total);
    for (let row = 0; row < rows.total; row++) if (rows.table.get('isFolded', row) === true) this.#folded.add(row);
    this.#arrange();
  }

  get total(): number {
    return this.#shown.length;
  }

  page({ offset, limit, at }: RowsQuery): ViewRows {
    // The newest instant is that of the request as it is.
    const then = at == null || at >= this.seq ? null : at;
    const page = this.#shown.slice(offset, offset + limit).map((row) => this.#row(row, then));
    return { seq: this.seq, rows: this.total, offset, page };
  }

  blocks(instances: readonly string[]): ViewRow[] {
    return instances.flatMap((one) => {
      const row = this.rows.ofInstance(one);
      return row === undefined ? [] : [this.#row(row, null)];
    });
  }

  #row(row: number, at: number | null): ViewRow {
    const isFolded = this.#isFolded(row);
    return {
      ...this.rows.row(row, at),
      isFolded,
      hidden: isFolded ? (this.#hidden.get(row) ?? 0) : 0,
      matches: this.#matches === null || this.#matches[row] === 1,
    };
  }

  fold({ node, folded }: FoldQuery): number {
    if (node == null) {
      for (let row = 0; row < this.rows.total; row++)
        if (!folded) this.#folded.delete(row);
        else if ((this.rows.parent[row] ?? -1) >= 0 && (this.rows.children[row] ?? 0) > 0) this.#folded.add(row);
    } else {
      const row = this.rows.ofNode(node);
      if (row !== undefined && folded) this.#folded.add(row);
      else if (row !== undefined) this.#folded.delete(row);
    }
    this.#arrange();
    return this.total;
  }

  async filter(text: string): Promise<Filtered> {
    const fits = await this.fits(text);
    this.#matches = fits && new Uint8Array(this.rows.total);
    this.#left = fits && new Uint8Array(this.rows.total);
    const matches = fits ? this.#match(fits) : 0;
    this.#arrange();
    return { rows: this.total, matches };
  }

  /** Marks the rows that a filter fits, and those around them. Answers how many it fits. */
  #match(fits: (row: number) => boolean): number {
    let matches = 0;
    for (let row = 0; row < this.rows.total; row++) {
      if (this.rows.isGroup(row) || !fits(row)) continue;
      matches++;
      this.#matches![row] = 1;
      for (let one = row; one >= 0 && this.#left![one] === 0; one = this.rows.parent[one] ?? -1) this.#left![one] = 1;
    }
    return matches;
  }

  /** The next row that a text fits, in the language of the filter, also where it is folded away. */
  async find({ text, from, backwards }: FindQuery): Promise<FoundRow | null> {
    const fits = await this.fits(text);
    if (!fits) return null;
    const first = from == null ? (backwards ? this.rows.total : -1) : this.#shown[from];
    if (first === undefined) return null;
    const step = backwards ? -1 : 1;
    for (let row = first + step; row >= 0 && row < this.rows.total; row += step)
      if (!this.rows.isGroup(row) && this.#left?.[row] !== 0 && fits(row)) return this.#reveal(row);
    return null;
  }

  rowOf({ instanceId, path }: BlockQuery): FoundRow | null {
    const row = instanceId ? this.rows.ofInstance(instanceId) : this.rows.ofPath(path ?? '');
    return row === undefined || this.#left?.[row] === 0 ? null : this.#reveal(row);
  }

  #reveal(row: number): FoundRow {
    let isHidden = false;
    for (let one = this.rows.parent[row] ?? -1; one >= 0; one = this.rows.parent[one] ?? -1)
      isHidden = this.#folded.delete(one) || isHidden;
    if (isHidden) this.#arrange();
    return { row: this.#place[row] ?? 0, node: this.rows.node[row] ?? 0, instanceId: this.rows.instance(row) };
  }

  step({ seq, to }: StepQuery): number | null {
    const seqs = Array.from(this.stops[to.replace(/^(next|previous)/, '') as keyof Stops]);
    return (to.startsWith('next') ? seqs.find((one) => one > seq) : seqs.findLast((one) => one < seq)) ?? null;
  }

  overview({ width, from, to }: OverviewQuery): Overview {
    const all = this.overviewOfAll;
    const range = { from: from ?? all.from, to: Math.max(from ?? all.from, to ?? all.to) };
    const [cells, failures] = [Array<number>(width).fill(0), Array<number>(width).fill(0)];
    const count = (at: number, isFailure: boolean) => {
      if (!(at >= range.from && at <= range.to)) return;
      const cell = partOf(at, range.from, range.to, width);
      cells[cell]! += 1;
      if (isFailure) failures[cell]! += 1;
    };
    const { rows } = this;
    for (let row = 0; row < rows.total; row++) {
      if (rows.isGroup(row)) continue;
      count(rows.startedAt[row] ?? NaN, false);
      count(rows.endedAt[row] ?? NaN, FAILURES.has(rows.text('status', row)));
    }
    const inside = <T extends { from: number; to: number }>(one: T) => ({
      ...one,
      from: Math.max(one.from, range.from),
      to: Math.min(one.to, range.to),
    });
    const gaps = all.gaps.map(inside).filter((gap) => gap.to - gap.from >= SHORTEST_GAP_MS);
    const critical = all.critical.map(inside).filter((part) => part.to > part.from);
    return { ...range, cells, failures, gaps: gaps.slice(0, MAX_GAPS), critical };
  }

  #isFolded(row: number): boolean {
    return this.#left === null && this.#folded.has(row) && (this.rows.children[row] ?? 0) > 0;
  }

  /** Makes the list of rows that are shown, and counts what folded rows hide. */
  #arrange() {
    const { total, end } = this.rows;
    const shown: number[] = [];
    this.#hidden = new Map();
    this.#place.fill(-1);
    for (let row = 0; row < total;) {
      if (this.#left?.[row] === 0) {
        row = end[row] ?? total;
        continue;
      }
      this.#place[row] = shown.length;
      shown.push(row);
      if (this.#isFolded(row)) {
        this.#hidden.set(row, this.#countInside(row));
        row = end[row] ?? total;
      } else row++;
    }
    this.#shown = shown;
  }

  /** How many rows there would be below a folded one. */
  #countInside(row: number): number {
    const { total, end } = this.rows;
    let count = 0;
    for (let inner = row + 1; inner < (end[row] ?? total);) {
      count++;
      inner = this.#isFolded(inner) ? (end[inner] ?? total) : inner + 1;
    }
    return count;
  }
}
