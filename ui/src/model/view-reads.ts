// What is asked of the view of the open request. Without a view there is nothing to answer.
import type { BlockQuery, FoundRow, Host, ItemsQuery, StepQuery, ViewCalls, ViewItems, ViewRow } from '../host/host';
import { noteFold, type Folds } from './arrangement';
import { RowPages } from './rows.svelte';

export class ViewReads {
  readonly rows: RowPages;
  protected view: number | null = null;
  protected readonly folds: Folds = new Map();

  constructor(readonly host: Host) {
    this.rows = new RowPages(host);
  }

  /** An event near another one; null where there is none in that direction. */
  async step(seq: number, to: StepQuery['to']): Promise<number | null> {
    return this.view === null ? null : this.host.viewStep(this.view, { seq, to });
  }

  /** The newest event at a time. */
  async seqAt(time: number): Promise<number> {
    return this.view === null ? 0 : this.host.viewSeqAt(this.view, Math.round(time));
  }

  /** The rows of blocks, wherever they stand. */
  async rowsOf(ids: string[]): Promise<ViewRow[]> {
    return this.view === null || ids.length === 0 ? [] : this.host.viewBlocks(this.view, ids);
  }

  /** Ticks and Calls that changed after an event. */
  async calls(after: number): Promise<ViewCalls | null> {
    return this.view === null ? null : this.host.viewCalls(this.view, after);
  }

  async items(query: ItemsQuery): Promise<ViewItems | null> {
    return this.view === null ? null : this.host.viewItems(this.view, query);
  }

  async overview(width: number, from?: number, to?: number) {
    return this.view === null ? null : this.host.viewOverview(this.view, { width, from, to });
  }

  fold(node: number | null, folded: boolean): Promise<number | null> {
    noteFold(this.folds, node, folded);
    return this.rows.rearrange(
      (view) => this.host.viewFold(view, { node, folded }),
      (rows) => rows,
    );
  }

  /** The row of a block, whose folded ancestors are unfolded. */
  rowOf(query: BlockQuery): Promise<FoundRow | null> {
    return this.#reach((view) => this.host.viewRowOf(view, query));
  }

  find(text: string, from: number | null, backwards: boolean): Promise<FoundRow | null> {
    return this.#reach((view) => this.host.viewFind(view, { text, from, backwards }));
  }

  #reach(act: (view: number) => Promise<FoundRow | null>): Promise<FoundRow | null> {
    return this.rows.rearrange(act, () => null);
  }
}
