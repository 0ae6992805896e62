// What a person opened, closed and paged on in a tree of a value, and which row the keys are at. One copy for every
// such tree, so that they all fold alike.
import { treeMove } from './treekeys';

type Row = { path: string; depth: number; children: number; open: boolean; more: number; value?: unknown };

/** Longer texts show their first part until they are opened. */
export const MAX_CHARS = 240;
export const isLongText = (value: unknown): boolean => typeof value === 'string' && value.length > MAX_CHARS;

export class TreeFolds {
  // It wins over what is open at first, and survives the next value.
  #touched: ReadonlyMap<string, boolean> = $state.raw(new Map());
  pages: ReadonlyMap<string, number> = $state.raw(new Map());
  /** The paths of long texts that are shown whole. */
  texts: ReadonlySet<string> = $state.raw(new Set());
  active = $state(0);

  /** Which paths are open: those that are at first, but for what a person opened or closed since. */
  opened(first: Set<string>): Set<string> {
    for (const [path, isOpen] of this.#touched) {
      if (isOpen) first.add(path);
      else first.delete(path);
    }
    return first;
  }

  toggle(row: Row): void {
    if (row.more > 0) this.pages = new Map(this.pages).set(row.path, (this.pages.get(row.path) ?? 1) + 1);
    else if (row.children > 0) this.#touched = new Map(this.#touched).set(row.path, !row.open);
    else if (isLongText(row.value)) {
      const others = [...this.texts].filter((path) => path !== row.path);
      this.texts = new Set(this.texts.has(row.path) ? others : [...others, row.path]);
    }
  }

  /** Does what a key means; `idOf` names the element of a row. Another key is left to others. */
  key(event: KeyboardEvent, rows: readonly Row[], idOf: (row: number) => string): void {
    const row = rows[this.active];
    if ((event.key === 'Enter' || event.key === ' ') && row) this.toggle(row);
    else {
      const folds = rows.map(({ depth, children, open }) => ({ depth, expandable: children > 0, expanded: open }));
      const move = treeMove(folds, this.active, event.key);
      if (!move) return;
      if (move.do === 'go') this.active = move.to;
      else if (row) this.toggle(row);
      document.getElementById(idOf(this.active))?.scrollIntoView({ block: 'nearest' });
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

/** The colour of a value by its kind. */
export const HUES: Record<string, string> = {
  string: 'text-syn-text',
  number: 'text-syn-number',
  boolean: 'text-syn-word',
  null: 'text-syn-word',
  absent: 'text-syn-note',
};
