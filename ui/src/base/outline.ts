// A JSON value as the rows of an indented outline, built only as far as it is opened.
// Children come a page at a time, so a list of 100,000 entries costs as much as one of a hundred.
import { count, isContainer } from './json';
import { child, parsePath } from './path';

export const PAGE = 100;

export type OutlineRow = {
  path: string;
  label: string;
  depth: number;
  value: unknown;
  children: number;
  open: boolean;
  /** A row that stands for children not shown yet, instead of for a value. */
  more: number;
};

export type Opened = { open: ReadonlySet<string>; pages: ReadonlyMap<string, number> };

export function outline(value: unknown, label: string, opened: Opened): OutlineRow[] {
  const rows: OutlineRow[] = [];
  visit(value, label, '', 0, opened, rows);
  return rows;
}

function visit(value: unknown, label: string, path: string, depth: number, opened: Opened, rows: OutlineRow[]) {
  const children = isContainer(value) ? count(value) : 0;
  const open = children > 0 && opened.open.has(path);
  rows.push({ path, label, depth, value, children, open, more: 0 });
  if (!open) return;
  const most = (opened.pages.get(path) ?? 1) * PAGE;
  let shown = 0;
  for (const [key, inner] of childrenOf(value)) {
    if (shown++ >= most) break;
    visit(inner, String(key), child(path, key), depth + 1, opened, rows);
  }
  if (children > most) {
    rows.push({ path, label: '', depth: depth + 1, value: undefined, children: 0, open: false, more: children - most });
  }
}

function* childrenOf(value: unknown): Generator<[string | number, unknown]> {
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) yield [index, value[index]];
  } else if (isContainer(value)) {
    for (const key in value) yield [key, (value as Record<string, unknown>)[key]];
  }
}

/** Which containers to open at first: level by level, as long as the outline stays within `budget` rows. */
export function firstOpen(value: unknown, budget: number): Set<string> {
  const open = new Set<string>();
  let room = budget;
  let level: [string, unknown][] = [['', value]];
  while (level.length > 0) {
    const next: [string, unknown][] = [];
    for (const [path, container] of level) {
      const size = count(container);
      if (size === 0 || size > room) continue;
      room -= size;
      open.add(path);
      for (const [key, inner] of childrenOf(container)) if (isContainer(inner)) next.push([child(path, key), inner]);
    }
    level = next;
  }
  return open;
}

/** The containers above a path, so that a changed place can be opened into view. */
export function above(path: string): string[] {
  const found = [''];
  for (const step of parsePath(path).slice(0, -1)) found.push(child(found.at(-1) ?? '', step));
  return found;
}
