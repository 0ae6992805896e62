// Which runs of a list are selected. They are known by their ids, because most of them are not on screen.
import type { RunRow } from '../host/host';
import { stillThere } from './run-pages';

/** The most runs that are selected at once. */
export const MAX_SELECTED = 10_000;

export abstract class RunSelection {
  /** The selected runs by id, each with its row if it was on screen. */
  selected: ReadonlyMap<string, RunRow | null> = $state.raw(new Map());
  /** From where a range is selected. */
  protected anchor = 0;
  /** Whether a selected run may be gone. */
  #isUnsure = false;

  /** How many runs there are; null before that is known. */
  abstract count: number | null;
  abstract rowAt(index: number): RunRow | null;
  /** Runs of the list by their places; null if the list is another one by then. */
  protected abstract idsOf(offset: number, limit: number): Promise<string[] | null>;
  /** The rows that were read, by their ids. */
  protected abstract known(): ReadonlyMap<string, RunRow>;

  /** Selects one more row, or one less. */
  toggle(index: number): void {
    const row = this.rowAt(index);
    if (!row) return;
    const selected = new Map(this.selected);
    if (!selected.delete(row.id)) selected.set(row.id, row);
    this.selected = selected;
    this.anchor = index;
  }

  /** Selects the rows from where the last selection began. */
  async extend(index: number): Promise<void> {
    const [first, last] = [Math.min(this.anchor, index), Math.max(this.anchor, index)];
    await this.#select(first, last + 1 - first);
  }

  async selectAll(): Promise<void> {
    this.anchor = 0;
    await this.#select(0, this.count ?? 0);
  }

  selectNone(): void {
    this.selected = new Map();
  }

  /** Where a range begins that is selected next. */
  anchorAt(index: number): void {
    this.anchor = index;
  }

  get isAllSelected(): boolean {
    return this.count !== null && this.count > 0 && this.selected.size >= this.count;
  }

  /** Whether as many are selected as can be, and there are more. */
  get isCut(): boolean {
    return this.count !== null && this.count > MAX_SELECTED && this.selected.size >= MAX_SELECTED;
  }

  /**
   * Leaves out of the selection what is not in the list any more: before something is done with it, and when the list
   * has become shorter. All ids are not read with every change, because a run that goes on changes all the time.
   */
  async settle(): Promise<void> {
    const { selected } = this;
    if (!this.#isUnsure || selected.size === 0) return;
    const ids = await this.idsOf(0, MAX_SELECTED);
    if (ids === null) return;
    this.#isUnsure = false;
    // Of a longer list the others are not known.
    if (ids.length < MAX_SELECTED) this.selected = stillThere(this.selected, selected, ids);
  }

  /** Rows were read again: what is selected and on screen is known as it is now. */
  protected async reread(isFewer: boolean): Promise<void> {
    if (this.selected.size === 0) return;
    const known = this.known();
    this.selected = new Map([...this.selected].map(([id, row]) => [id, known.get(id) ?? row]));
    this.#isUnsure ||= [...this.selected.keys()].some((id) => !known.has(id));
    if (isFewer) await this.settle();
  }

  async #select(offset: number, wanted: number) {
    const known = this.known();
    const ids = await this.idsOf(offset, Math.min(wanted, MAX_SELECTED));
    if (ids) this.selected = new Map(ids.map((id) => [id, known.get(id) ?? null]));
  }
}
