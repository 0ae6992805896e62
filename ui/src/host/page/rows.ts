// The rows of a page: the whole tree in the order of its rows, and each row as of any event. How a row stood follows
// from its first and its last event; where it does not, the file says how it stood from which event on.
import type { Sums, ViewRow } from '../bindings';
import { Table, type WrittenTable } from './columns';
import { groupAt } from './groups';

export type WrittenRows = { table: WrittenTable; earlier: Record<string, [number, ViewRow][]> };

const NEVER = Infinity;
const NO_SUMS: Sums = { modelCalls: 0, promptTokens: 0, completionTokens: 0, changes: 0, unpriced: 0 };
const NOT_ENDED = {
  durationMs: undefined,
  cutMs: undefined,
  seqEnd: undefined,
  error: undefined,
  memoized: false,
  caught: false,
  changes: 0,
  items: 0,
  modelCalls: 0,
  promptTokens: 0,
  completionTokens: 0,
};
/** Fields of a row that the tree says, not the table. */
const OF_TREE = new Set(['depth', 'isFolded', 'path']);

export class PageRows {
  readonly total: number;
  readonly depth: Float64Array;
  readonly node: Float64Array;
  readonly seqStart: Float64Array;
  readonly seqEnd: Float64Array;
  readonly startedAt: Float64Array;
  readonly endedAt: Float64Array;
  /** The row around each; -1 for those at the top. */
  readonly parent: Int32Array;
  /** The row after the last one inside of each. */
  readonly end: Int32Array;
  /** Which of its siblings each is, from 1; and of each row how many rows are directly inside. */
  readonly position: Int32Array;
  readonly children: Int32Array;
  /** The block that a row stands for, counted in the order of rows; -1 for a group. */
  readonly block: Int32Array;
  readonly paths: (string | undefined)[];
  readonly #byNode = new Map<number, number>();
  readonly #byInstance = new Map<string, number>();
  readonly #byPath = new Map<string, number>();
  #top = 0;

  constructor(
    readonly request: string,
    readonly table: Table,
    readonly earlier: WrittenRows['earlier'],
  ) {
    this.total = table.rows;
    this.depth = table.numbers('depth', 0);
    this.node = table.numbers('node', 0);
    this.seqStart = table.numbers('seqStart', 0);
    this.seqEnd = table.numbers('seqEnd', NEVER);
    this.startedAt = table.numbers('startedAt', 0);
    const took = table.numbers('durationMs', NaN);
    this.endedAt = this.startedAt.map((at, row) => at + (took[row] ?? NaN));
    const count = () => new Int32Array(this.total);
    [this.parent, this.end, this.position, this.children, this.block] = [count(), count(), count(), count(), count()];
    this.paths = Array.from({ length: this.total });
    this.#build();
  }

  static of(request: string, { table, earlier }: WrittenRows): PageRows {
    return new PageRows(request, new Table(table), earlier);
  }

  #build() {
    const around: number[] = [];
    let blocks = 0;
    for (let row = 0; row < this.total; row++) {
      const depth = this.depth[row] ?? 0;
      for (const one of around.splice(depth)) this.end[one] = row;
      const parent = around[depth - 1] ?? -1;
      around.push(row);
      this.parent[row] = parent;
      if (parent < 0) this.position[row] = ++this.#top;
      else this.position[row] = this.children[parent] = (this.children[parent] ?? 0) + 1;
      this.block[row] = this.isGroup(row) ? -1 : blocks++;
      this.#byNode.set(this.node[row] ?? 0, row);
      this.#name(row);
    }
    for (const one of around) this.end[one] = this.total;
  }

  /** The row of the block around one; -1 for those at the top. */
  around(row: number): number {
    let block = this.parent[row] ?? -1;
    while (block >= 0 && this.isGroup(block)) block = this.parent[block] ?? -1;
    return block;
  }

  #name(row: number) {
    if (this.isGroup(row)) return;
    const block = this.around(row);
    const own = this.table.get('path', row) as string | undefined;
    const path = own ?? `${this.paths[block] ?? ''}/${String(this.table.get('label', row))}`;
    this.paths[row] = path;
    const attempt = Number(this.table.get('attempt', row));
    this.#byInstance.set(`${this.request}:${path}:${attempt}`, row);
    const newest = this.#byPath.get(path);
    if (newest === undefined || Number(this.table.get('attempt', newest)) < attempt) this.#byPath.set(path, row);
  }

  isGroup(row: number): boolean {
    return this.table.get('group', row) != null;
  }
  ofNode(node: number): number | undefined {
    return this.#byNode.get(node);
  }
  ofInstance(instance: string): number | undefined {
    return this.#byInstance.get(instance);
  }
  /** The row of the newest execution of a path. */
  ofPath(path: string): number | undefined {
    return this.#byPath.get(path);
  }
  instance(row: number): string {
    return `${this.request}:${this.paths[row]}:${String(this.table.get('attempt', row))}`;
  }
  text(name: 'name' | 'kind' | 'label' | 'error' | 'status', row: number): string {
    return String(this.table.get(name, row) ?? '');
  }
  /** The rows directly inside of one. */
  *inside(row: number): Generator<number> {
    for (let child = row + 1; child < (this.end[row] ?? 0); child = this.end[child] ?? this.total) yield child;
  }
  siblings(row: number): number {
    const parent = this.parent[row] ?? -1;
    return parent < 0 ? this.#top : (this.children[parent] ?? 0);
  }

  /** How a row stood as of an event; null before it began. */
  statusAt(row: number, at: number): ViewRow['status'] {
    if (at < (this.seqStart[row] ?? 0)) return null;
    const forms = this.earlier[row];
    if (forms) return (forms.findLast(([from]) => from <= at)?.[1].status ?? null) as ViewRow['status'];
    return at < (this.seqEnd[row] ?? NEVER) ? 'running' : (this.table.get('status', row) as ViewRow['status']);
  }

  /** What a row and everything inside of it asked and wrote; nothing of what had not ended. */
  sumsAt(row: number, at: number): Sums {
    if (!this.isGroup(row)) return at < (this.seqEnd[row] ?? NEVER) ? NO_SUMS : this.#sums(row);
    const sums = { ...NO_SUMS };
    for (const child of this.inside(row)) {
      const one = this.sumsAt(child, at);
      for (const key of ['modelCalls', 'promptTokens', 'completionTokens', 'changes', 'unpriced'] as const)
        sums[key] += one[key];
      if (one.cost != null) sums.cost = (sums.cost ?? 0) + one.cost;
    }
    return sums;
  }

  #sums(row: number): Sums {
    const sum = (name: string) => Number(this.table.get(`sums.${name}`, row) ?? 0);
    const cost = this.table.get('sums.cost', row) as number | undefined;
    return {
      modelCalls: sum('modelCalls'),
      promptTokens: sum('promptTokens'),
      completionTokens: sum('completionTokens'),
      changes: sum('changes'),
      ...(cost !== undefined && { cost }),
      unpriced: sum('unpriced'),
    };
  }

  /** A row as of an event; as of the newest one where none is named. What the view decides is left as in the file. */
  row(row: number, at: number | null): ViewRow {
    const fields: Record<string, unknown> = { sums: at === null ? this.#sums(row) : this.sumsAt(row, at) };
    for (const name of this.table.names) {
      const value = OF_TREE.has(name) || name.startsWith('sums.') ? undefined : this.table.get(name, row);
      if (value !== undefined) fields[name] = value;
    }
    const found = {
      ...fields,
      status: (fields.status ?? null) as ViewRow['status'],
      depth: this.depth[row],
      hasChildren: (this.children[row] ?? 0) > 0,
      position: this.position[row],
      siblings: this.siblings(row),
      ...(this.paths[row] !== undefined && { path: this.paths[row], instanceId: this.instance(row) }),
    } as ViewRow;
    if (at === null) return found;
    if (this.isGroup(row)) return { ...found, ...groupAt(this, row, at) };
    const forms = this.earlier[row];
    const form = forms?.findLast(([from]) => from <= at)?.[1];
    if (form) return { ...found, ...NOT_ENDED, gaps: undefined, ...form, depth: found.depth, isFolded: found.isFolded };
    if (at >= (this.seqEnd[row] ?? NEVER) && !forms) return found;
    const status = this.statusAt(row, at);
    const edited = found.edited === 'input' ? found.edited : undefined;
    return { ...found, ...NOT_ENDED, gaps: undefined, edited, status };
  }
}
