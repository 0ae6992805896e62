// How much room the name of a row leaves beside itself, and whether what tells a turn from the others fits there. Pure.
import { visible } from '../../base/json';
import type { ViewRow } from '../../host/host';
import { nameOf, turnOf } from '../../model/row-name';

/** About what a letter takes, and a row before and after its name; how deep rows are still indented; few words. */
const [LETTER, AROUND, DEEPEST, WORDS] = [6.7, 60, 12, 90];

/** The least that bars take, and the least that names do; numbers in full, and only the most needed of them. */
const [BARS, NAMES, NUMBERS, FEW] = [400, 120, 112, 62];
/** The line before the bars, and the scroll bar after them. */
const EDGES = 1 + 14;

/** How wide names and numbers are: in a narrow window the numbers give way first, then the names, then the bars. A width of
 *  0 is not measured yet. */
export function columnWidths(width: number, wanted: number): { names: number; numbers: number } {
  if (width === 0) return { names: wanted, numbers: NUMBERS };
  const numbers = width < wanted + NUMBERS + BARS + EDGES ? FEW : NUMBERS;
  return { names: Math.max(NAMES, Math.min(wanted, width - numbers - BARS - EDGES)), numbers };
}

/** Narrow names keep their room for letters. */
export const indentOf = (nameWidth: number): number => (nameWidth < 200 ? 7 : 12);

/** Where the name of a row begins, in px. */
export const startOf = (depth: number, nameWidth: number): number => 4 + Math.min(depth, DEEPEST) * indentOf(nameWidth);

/** The index of a row: also that of a first pass, whose place does not say it. */
export function indexOf(row: ViewRow, isFirst: boolean): string {
  const turn = turnOf(row);
  return isFirst && !turn.includes('[') ? `[0]${turn}` : turn;
}

/** Whether a row is the first of the turns that the row above it stands for. */
export const isFirstTurn = (row: ViewRow | undefined, above: ViewRow | undefined): boolean =>
  above?.group?.of === 'turns' && row !== undefined && !row.group && row.depth === above.depth + 1;

/** How many px the name and the index of a row leave, about. */
export const roomLeft = (row: ViewRow, nameWidth: number, index: string): number =>
  nameWidth - startOf(row.depth, nameWidth) - AROUND - LETTER * (nameOf(row).length + index.length);

/** Whether the words of a turn, or enough of them to tell it by, fit beside its name. */
export function hasRoomForWords(row: ViewRow, nameWidth: number, index: string): boolean {
  const wanted = Math.min(WORDS, LETTER * (row.words?.length ?? 0));
  return roomLeft(row, nameWidth, index) >= wanted;
}

/** The words of a turn that its bar has to say, because there is no room beside the name. */
export function wordsBesideBar(row: ViewRow | undefined, above: ViewRow | undefined, nameWidth: number): string {
  const index = row?.words ? indexOf(row, isFirstTurn(row, above)) : '';
  return row && index && !hasRoomForWords(row, nameWidth, index) ? visible(row.words ?? '') : '';
}
