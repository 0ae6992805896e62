// The columns of the list of runs: what they are called, how wide they are, and which of them are left out first where
// there is little room.
import type { RunSort } from '../../host/host';

export type ColumnId =
  'status' | 'flow' | 'title' | 'user' | 'session' | 'from' | 'duration' | 'tokens' | 'cost' | 'tags' | 'started';

export type Column = {
  id: ColumnId;
  label: string;
  /** What the values are, where the label does not say it. */
  about?: string;
  sort: RunSort;
  /** In pixels; the title takes what is left. */
  width: number;
  isRight?: boolean;
  /** Which order comes first when it is asked for. */
  isDescending?: boolean;
  /** The lowest is left out first where there is little room. */
  rank: number;
};

export const COLUMNS: readonly Column[] = [
  { id: 'status', label: 'Status', sort: 'status', width: 24, rank: 99 },
  { id: 'flow', label: 'Flow', sort: 'flow', width: 148, rank: 98 },
  { id: 'title', label: 'Input or title', sort: 'title', width: 0, rank: 99 },
  { id: 'user', label: 'User', sort: 'user', width: 84, rank: 3 },
  { id: 'session', label: 'Session', sort: 'session', width: 100, rank: 2 },
  { id: 'from', label: 'Forked or retried from', sort: 'from', width: 116, isDescending: true, rank: 1 },
  {
    id: 'duration',
    label: 'Took',
    about: 'From start to end, including waits',
    sort: 'duration',
    width: 66,
    isRight: true,
    isDescending: true,
    rank: 6,
  },
  { id: 'tokens', label: 'Tokens', sort: 'tokens', width: 62, isRight: true, isDescending: true, rank: 5 },
  { id: 'cost', label: 'Cost', sort: 'cost', width: 74, isRight: true, isDescending: true, rank: 4 },
  { id: 'tags', label: 'Tags', sort: 'tags', width: 128, rank: 7 },
  { id: 'started', label: 'Started', sort: 'started', width: 84, isRight: true, isDescending: true, rank: 97 },
];

/** Columns that a person may leave out. */
export const OPTIONAL = COLUMNS.filter((column) => column.rank < 97);
/** Left out until somebody wants it. */
export const HIDDEN_FIRST: readonly ColumnId[] = ['from'];

const CHECK = 28;
const GAP = 10;
const PADDING = 28;
/** A title that is shorter says little. */
const TITLE = 180;
/** It gives way to columns that somebody asked for. */
const NARROW_TITLE = 110;

/**
 * The columns that are shown in this much room, their widths for CSS, and how wide they are at least if there is not
 * room for them. Those that somebody asked for are never left out.
 */
export function shownColumns(hidden: readonly ColumnId[], wanted: readonly ColumnId[], room: number) {
  let columns = COLUMNS.filter((column) => !hidden.includes(column.id));
  const isWanted = ({ id }: Column) => wanted.includes(id);
  const title = columns.some(isWanted) ? NARROW_TITLE : TITLE;
  const needed = (title: number) => CHECK + PADDING + title + columns.reduce((sum, { width }) => sum + width + GAP, 0);
  // Before it is measured there is room for all.
  const limit = room > 0 ? room : Infinity;
  while (needed(title) > limit) {
    const [first, ...others] = columns.filter((column) => column.rank < 97 && !isWanted(column));
    if (!first) break;
    const least = others.reduce((least, column) => (column.rank < least.rank ? column : least), first);
    columns = columns.filter((column) => column !== least);
  }
  const widths = columns.map(({ id, width }) => (id === 'title' ? 'minmax(0, 1fr)' : `${width}px`));
  const atLeast = columns.some(isWanted) && needed(title) > limit ? needed(title) : 0;
  return { columns, template: [`${CHECK}px`, ...widths].join(' '), atLeast };
}

/** The columns that nobody hid and that are not shown, because there is no room for them. */
export function leftOut(hidden: readonly ColumnId[], wanted: readonly ColumnId[], room: number): ColumnId[] {
  const { columns } = shownColumns(hidden, wanted, room);
  return COLUMNS.filter((column) => !hidden.includes(column.id) && !columns.includes(column)).map(({ id }) => id);
}
