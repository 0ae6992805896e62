// One open view of a recording, as the Rust side answers it: windows of rows, folds, a filter, steps and the overview.
import { wordsOf } from './fake-lists';
import { parseFilter } from './fake-filter';
import { countsAt } from './fake-items';
import { beginsFolded, countBelow, rowOfNode, treeOf, type TreeNode } from './fake-tree';
import type {
  BlockRow,
  Counts,
  FindQuery,
  FoldQuery,
  FoundRow,
  Overview,
  OverviewQuery,
  BlockQuery,
  RowsQuery,
} from './host';
import type { StepQuery, ViewHead, ViewRow, ViewRows, ViewUpdate } from './host';
import type { Recording } from './recording';

type Flat = { node: TreeNode; depth: number; position: number; siblings: number; matches: boolean };

const IDLE_FROM_MS = 100;

export class FakeView {
  isTellingItems = false;
  readonly #numbers = new Map<string, number>();
  /** What differs from how a row begins: unfolded, and groups folded. */
  readonly #folds = new Map<number, boolean>();
  #filter = '';
  #built: { version: string; flat: Flat[] } = { version: '', flat: [] };
  #path: { seq: number; parts: Overview['critical']; nodes: Set<number> } = { seq: -1, parts: [], nodes: new Set() };

  constructor(
    readonly id: number,
    readonly recording: Recording,
  ) {}

  head(): ViewHead {
    const { changedFrom: _, ...head } = this.update();
    const first = this.recording.blocks()[0];
    return { ...head, words: wordsOf(this.recording), start: first ? first.seqStart - 1 : 0 };
  }

  update(): ViewUpdate {
    const { recording } = this;
    const [from, to] = this.#range();
    return {
      view: this.id,
      ...(this.isTellingItems && {
        items: { counts: countsAt(recording, null), changedFrom: { all: 0, client: 0, history: 0, trace: 0 } },
      }),
      request: structuredClone(recording.row),
      root: recording.blocks().findLast((block) => !block.parent)?.instanceId ?? null,
      seq: recording.events.length,
      rows: this.#flat().length,
      counts: this.#counts(),
      from,
      to,
      changedFrom: 0,
    };
  }

  rows({ offset, limit, at }: RowsQuery): ViewRows {
    const flat = this.#flat();
    const page = flat.slice(offset, offset + limit).map((one) => this.#row(one, at ?? null));
    return { seq: this.recording.events.length, rows: flat.length, offset, page };
  }

  fold({ node, folded }: FoldQuery): number {
    if (node === null) {
      for (const one of this.#nodes())
        if (one.children.length > 0) this.#folds.set(one.node, folded && one.parent !== null);
    } else this.#folds.set(node, folded);
    this.#built.version = '';
    return this.#flat().length;
  }

  filter(text: string) {
    parseFilter(text);
    this.#filter = text.trim();
    this.#built.version = '';
    const flat = this.#flat();
    return { rows: flat.length, matches: flat.filter((one) => one.matches).length };
  }

  find({ text, from, backwards }: FindQuery): FoundRow | null {
    const matches = parseFilter(text);
    const all = this.#nodes().filter((one) => one.block && matches(one.block));
    const order = new Map(this.#nodes().map((one, n) => [one.node, n]));
    const current = from == null ? undefined : this.#flat()[from]?.node;
    const place = current ? (order.get(current.node) ?? -1) : backwards ? order.size : -1;
    const hit = backwards
      ? all.findLast((one) => (order.get(one.node) ?? 0) < place)
      : all.find((one) => (order.get(one.node) ?? 0) > place);
    return hit ? this.#show(hit) : null;
  }

  rowOf({ instanceId, path }: BlockQuery): FoundRow | null {
    const hit = this.#nodes().findLast(
      (one) => one.block && (one.block.instanceId === instanceId || one.block.path === path),
    );
    return hit ? this.#show(hit) : null;
  }

  blocks(instanceIds: readonly string[]): ViewRow[] {
    const wanted = new Set(instanceIds);
    const found = this.#nodes().filter((one) => one.block && wanted.has(one.block.instanceId));
    return found.map((node) => this.#row({ node, depth: 0, position: 1, siblings: 1, matches: false }, null));
  }

  step({ seq, to }: StepQuery): number | null {
    const blocks = this.recording.blocks();
    const failures = to.endsWith('Failure');
    const seqs = blocks.flatMap((one) => {
      if (!one.seqEnd || (failures && one.status !== 'failed')) return [];
      return to.endsWith('Boundary') ? [one.seqStart, one.seqEnd] : [one.seqEnd];
    });
    const fitting = seqs.filter((one) => (to.startsWith('next') ? one > seq : one < seq));
    if (fitting.length === 0) return null;
    return to.startsWith('next') ? Math.min(...fitting) : Math.max(...fitting);
  }

  seqAt(time: number): number {
    let found = 0;
    for (const event of this.recording.events) if (event.at <= time) found = event.seq;
    return found;
  }

  overview({ width, from, to }: OverviewQuery): Overview {
    const [first, last] = this.#range();
    const range = { from: from ?? first, to: to ?? last };
    const cells = Array<number>(width).fill(0);
    const failures = Array<number>(width).fill(0);
    const cell = (at: number) =>
      Math.min(width - 1, Math.floor(((at - range.from) / Math.max(1, range.to - range.from)) * width));
    for (const block of this.recording.blocks()) {
      const end = block.startedAt + (block.durationMs ?? 0);
      if (block.startedAt < range.from || block.startedAt > range.to) continue;
      cells[cell(block.startedAt)]! += 1;
      if (block.status === 'failed' && end <= range.to) failures[cell(end)]! += 1;
    }
    return { ...range, cells, failures, gaps: this.#gaps(), critical: this.#critical().parts };
  }

  #row(one: Flat, at: number | null): ViewRow {
    const { node } = one;
    const folded = node.children.length > 0 && this.#isFolded(node);
    return {
      ...rowOfNode(node, one.depth, at),
      isFolded: folded,
      hidden: folded ? countBelow(node) : 0,
      position: one.position,
      siblings: one.siblings,
      matches: one.matches,
      isCritical: this.#critical().nodes.has(node.node),
    };
  }

  #isFolded(node: TreeNode): boolean {
    return this.#filter ? false : (this.#folds.get(node.node) ?? beginsFolded(node));
  }

  #show(hit: TreeNode): FoundRow {
    for (let above = hit.parent; above; above = above.parent) this.#folds.set(above.node, false);
    this.#built.version = '';
    const row = this.#flat().findIndex((one) => one.node.node === hit.node);
    return { row, node: hit.node, instanceId: hit.block?.instanceId ?? '' };
  }

  #tree(): TreeNode[] {
    return treeOf(this.recording.blocks(), (key) => {
      const known = this.#numbers.get(key) ?? this.#numbers.size + 1;
      this.#numbers.set(key, known);
      return known;
    });
  }

  #nodes(): TreeNode[] {
    const all: TreeNode[] = [];
    const visit = (list: readonly TreeNode[]) => list.forEach((one) => (all.push(one), visit(one.children)));
    visit(this.#tree());
    return all;
  }

  #flat(): Flat[] {
    const version = `${this.recording.events.length} ${this.#filter}`;
    if (this.#built.version === version) return this.#built.flat;
    const matches = this.#filter ? parseFilter(this.#filter) : null;
    const flat: Flat[] = [];
    const kept = (node: TreeNode): boolean =>
      !matches || (node.block !== null && matches(node.block)) || node.children.some(kept);
    const visit = (list: readonly TreeNode[], depth: number) => {
      const shown = list.filter(kept);
      shown.forEach((node, n) => {
        const own = matches !== null && node.block !== null && matches(node.block);
        flat.push({ node, depth, position: n + 1, siblings: shown.length, matches: own });
        if (!this.#isFolded(node)) visit(node.children, depth + 1);
      });
    };
    visit(this.#tree(), 0);
    this.#built = { version, flat };
    return flat;
  }

  #counts(): Counts {
    const blocks = this.recording.blocks();
    const count = (status: BlockRow['status']) => blocks.filter((one) => one.status === status).length;
    const [running, failed, suspended] = [count('running'), count('failed'), count('suspended')];
    const items = blocks.reduce((sum, one) => sum + one.items, 0);
    const finished = blocks.filter((one) => one.seqEnd).length;
    return { blocks: blocks.length, finished, running, failed, suspended, items, ticks: 0, calls: 0 };
  }

  #range(): [number, number] {
    const { row, events } = this.recording;
    return [row.startedAt, Math.max(row.startedAt + 1, events.at(-1)?.at ?? row.startedAt)];
  }

  /** Times at which no event happened. */
  #gaps(): Overview['gaps'] {
    const { events } = this.recording;
    return events.flatMap((event, n) => {
      const before = events[n - 1]?.at ?? event.at;
      return event.at - before >= IDLE_FROM_MS ? [{ from: before, to: event.at }] : [];
    });
  }

  /** From the root on, always the child that ended last. */
  #critical() {
    const seq = this.recording.events.length;
    if (this.#path.seq === seq) return this.#path;
    const last = new Map<string, BlockRow>();
    const endOf = (block: BlockRow) => block.startedAt + (block.durationMs ?? 0);
    const blocks = this.recording.blocks();
    for (const block of blocks) {
      const known = last.get(block.parent ?? '');
      if (!known || endOf(block) >= endOf(known)) last.set(block.parent ?? '', block);
    }
    const parts: Overview['critical'] = [];
    for (let on = last.get(''); on; on = last.get(on.instanceId))
      parts.push({ from: on.startedAt, to: endOf(on), node: this.#numbers.get(on.instanceId) ?? 0 });
    this.#path = { seq, parts, nodes: new Set(parts.map((part) => part.node)) };
    return this.#path;
  }
}
