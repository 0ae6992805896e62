// What the margin and the lines of a source show: how often each line ran, which lines were never reached, and which part
// of a long file is drawn. Pure.
import { short } from '../../../base/amount';
import type { Piece } from '../../../base/highlight';
import { thousands } from '../../../base/thousands';
import type { FileCoverage, Instant, Local, PrintedValue } from '../../../host/host';

/** More lines than this are not drawn at once. */
export const MAX_LINES = 1500;

/** `12`, `1.2k`; nothing for a line that never ran, which is shown faint, and for a line without a statement. */
export const hitWords = (hits: number | undefined): string => (hits ? short(hits) : '');

export function hitTitle(hits: number | undefined): string | undefined {
  if (hits === undefined) return undefined;
  if (hits === 0) return 'Never ran in this request';
  return hits === 1 ? 'Ran once in this request' : `Ran ${thousands(hits)} times in this request`;
}

/** How often the lines of a file ran, by line. `code` is the hash of the code whose text is shown. */
export function hitsOf(
  coverage: readonly FileCoverage[] | null,
  file: string,
  code: string,
): ReadonlyMap<number, number> {
  const of = coverage?.find((one) => one.file === file && (one.code == null || one.code === code));
  return new Map(of?.lines.map(({ line, hits }) => [line, hits]));
}

const indentOf = (line: string): number => /^\s*/.exec(line)?.[0].length ?? 0;

/** The lines that never ran: statements without a hit, and the deeper lines below them that belong to them. */
export function unreachedLines(lines: readonly string[], hits: ReadonlyMap<number, number>): ReadonlySet<number> {
  const found = new Set<number>();
  let indent: number | null = null;
  lines.forEach((text, at) => {
    const line = at + 1;
    const own = hits.get(line);
    if (own !== undefined) indent = own === 0 ? indentOf(text) : null;
    else if (indent !== null && text.trim() && indentOf(text) <= indent) indent = null;
    if (indent !== null && text.trim()) found.add(line);
  });
  return found;
}

/** The first line of a part of a long file, so that a line is in the middle of it. */
export function firstShown(count: number, line: number): number {
  if (count <= MAX_LINES) return 1;
  return Math.max(1, Math.min(line - MAX_LINES / 2, count - MAX_LINES + 1));
}

/** Where a line of a part begins that has to show another line; the same part while the line is in it. */
export function partWith(first: number, count: number, line: number): number {
  return line >= first && line < first + MAX_LINES ? first : firstShown(count, line);
}

export const isFailed = (value: PrintedValue): value is Extract<PrintedValue, { error: unknown }> => 'error' in value;

/** A line for people: the value, or why there is none. */
export const previewOf = (value: PrintedValue): string =>
  isFailed(value) ? `${value.error.name}: ${value.error.message}` : value.preview;

/**
 * The names whose values the last move changed, with the preview of before; null for a name that had none, and after a
 * move backwards, where what was shown before is what comes later.
 */
export function changedLocals(before: Instant | null, now: Instant): ReadonlyMap<string, string | null> {
  const found = new Map<string, string | null>();
  const isSame = before?.function === now.function && before.stack.length === now.stack.length;
  if (!before || !isSame || before.tick === now.tick) return found;
  const old = new Map(before.locals.map(({ name, value }) => [name, previewOf(value)]));
  for (const { name, value } of now.locals) {
    const was = old.get(name);
    if (was !== previewOf(value)) found.set(name, before.tick < now.tick ? (was ?? null) : null);
  }
  return found;
}

const MAX_INLINE = 4;

/** The locals that a statement names, for the end of its line. */
export function namedIn(statement: string, locals: readonly Local[]): Local[] {
  const names = new Set(statement.match(/[\p{ID_Start}$_][\p{ID_Continue}$]*/gu));
  const named = locals.filter(({ name, value }) => names.has(name) && !isFailed(value) && value.kind !== 'function');
  return named.slice(0, MAX_INLINE);
}

/** The columns of the current statement on one line, from 1 and without the last; null for a line outside of it. */
export function columnsOn(instant: Instant, line: number, length: number): { from: number; to: number } | null {
  if (line < instant.line || line > instant.endLine) return null;
  const from = line === instant.line ? instant.column : 1;
  const to = line === instant.endLine ? instant.endColumn : length + 1;
  return { from, to: Math.max(from, to) };
}

/** Which statement an instant is at. In a narrow pane large numbers have no room for a word between them. */
export function statementWords({ tick, ticks, ended }: Instant, isWide: boolean): string {
  if (ended) {
    const isStart = ended === 'start';
    if (!isWide) return isStart ? 'start' : 'end';
    return `${isStart ? 'before the first' : 'after the last'} of ${thousands(ticks)} statements`;
  }
  if (isWide) return `statement ${thousands(tick)} of ${thousands(ticks)}`;
  return `${thousands(tick)}${ticks > 999 ? '/' : ' of '}${thousands(ticks)}`;
}

export type MarkedPiece = { piece: Piece; isMarked: boolean };

/** The pieces of a line, cut so that each is inside or outside of some columns. */
export function markedPieces(line: readonly Piece[], columns: { from: number; to: number } | null): MarkedPiece[] {
  if (!columns) return line.map((piece) => ({ piece, isMarked: false }));
  const found: MarkedPiece[] = [];
  let at = 1;
  for (const piece of line) {
    const end = at + piece.text.length;
    const cuts = [at, ...[columns.from, columns.to].filter((cut) => cut > at && cut < end), end];
    cuts.slice(1).forEach((to, n) => {
      const from = cuts[n] ?? at;
      const text = piece.text.slice(from - at, to - at);
      found.push({ piece: { ...piece, text }, isMarked: from >= columns.from && to <= columns.to });
    });
    at = end;
  }
  return found;
}
