// A state and its changes as the rows of one tree: a changed place has its old value beside the new one, and a removed
// place keeps a row. Pure.
import type { Change } from '../../host/host';
import { above, outline, type Opened, type OutlineRow } from '../../base/outline';
import { formatPath, parsePath } from '../../base/path';
import { isByAnother } from '../../model/changes';

export type Marked = Pick<Change, 'kind' | 'old' | 'new' | 'by' | 'seq'> & { isByAnother: boolean; isEdit: boolean };

export type TreeRow = OutlineRow & {
  change: Marked | null;
  /** How many places inside it changed, and how many of those another request changed. */
  inside: number;
  insideByOthers: number;
  isGone: boolean;
  /** Whether it is inside an added value, and so was added itself. */
  isNew: boolean;
};

/** `others` are changes by other requests, which are not in the other counts. */
export type Counts = { added: number; changed: number; removed: number; others: number };

/** Changes by path: `here` by the current path, `gone` by the former one. A list may have both at one index. */
export type Marks = { here: ReadonlyMap<string, Marked>; gone: ReadonlyMap<string, Marked> };

export function marksOf(changes: readonly Change[]): Marks {
  const marks = { here: new Map<string, Marked>(), gone: new Map<string, Marked>() };
  for (const change of changes) {
    const { path, kind, old, new: now, by, seq, isEdit = false } = change;
    const mark = { kind, old, new: now, by, seq, isEdit, isByAnother: isByAnother(change) };
    marks[kind === 'removed' ? 'gone' : 'here'].set(path, mark);
  }
  return marks;
}

export const sizeOf = ({ here, gone }: Marks): number => here.size + gone.size;

export const pathsOf = ({ here, gone }: Marks): string[] => [...here.keys(), ...gone.keys()];

export function countsOf({ here, gone }: Marks): Counts {
  const all = [...here.values(), ...gone.values()];
  const own = all.filter((mark) => !mark.isByAnother);
  const count = (...kinds: Change['kind'][]) => own.filter(({ kind }) => kinds.includes(kind)).length;
  const others = all.length - own.length;
  return { added: count('added'), changed: count('changed', 'moved'), removed: count('removed'), others };
}

/** Whether this request changed anything. */
export const isChanged = ({ here, gone }: Marks): boolean =>
  [...here.values(), ...gone.values()].some((mark) => !mark.isByAnother);

/** `+1 ~2 −3`, without zeros. */
export const countWords = ({ added, changed, removed, others }: Counts): string =>
  [
    added > 0 && `+${added}`,
    changed > 0 && `~${changed}`,
    removed > 0 && `−${removed}`,
    others > 0 && `${others} by other requests`,
  ]
    .filter(Boolean)
    .join(' ');

const parentOf = (path: string) => formatPath(parsePath(path).slice(0, -1));
const nameOf = (path: string) => String(parsePath(path).at(-1) ?? '');

/** How many changes are inside each container. */
function insideOf(paths: readonly string[]): Map<string, number> {
  const inside = new Map<string, number>();
  for (const path of paths)
    for (const one of above(path)) if (one !== path) inside.set(one, (inside.get(one) ?? 0) + 1);
  return inside;
}

/** `isOnlyChanged` leaves out rows that neither changed nor contain a change. */
export function treeOf(value: unknown, marks: Marks, opened: Opened, isOnlyChanged: boolean) {
  const inside = insideOf(pathsOf(marks));
  const byOthers = insideOf([...marks.here, ...marks.gone].flatMap(([path, mark]) => (mark.isByAnother ? [path] : [])));
  const rows: TreeRow[] = [];
  const gone = new Map<string, string[]>();
  for (const path of marks.gone.keys()) gone.set(parentOf(path), [...(gone.get(parentOf(path)) ?? []), path]);
  const addGone = (parent: string, depth: number) => {
    for (const path of gone.get(parent) ?? [])
      rows.push({
        path,
        label: nameOf(path),
        depth,
        value: undefined,
        children: 0,
        open: false,
        more: 0,
        change: marks.gone.get(path) ?? null,
        inside: 0,
        insideByOthers: 0,
        isGone: true,
        isNew: false,
      });
  };
  // Removed places are shown after the rows of their container, which end before a row of no greater depth.
  const open: { path: string; depth: number }[] = [];
  const close = (depth: number) => {
    while (open.length > 0 && (open.at(-1)?.depth ?? 0) >= depth) {
      const ended = open.pop();
      if (ended) addGone(ended.path, ended.depth + 1);
    }
  };
  // The depth of the added container around the current rows.
  let added = Infinity;
  const isShown = isOnlyChanged ? shownOnly(marks.here, inside) : () => true;
  for (const row of outline(value, '', opened)) {
    close(row.depth);
    const change = row.more > 0 ? null : (marks.here.get(row.path) ?? null);
    if (row.depth <= added) added = change?.kind === 'added' && !change.isByAnother ? row.depth : Infinity;
    if (row.more > 0 ? !isOnlyChanged : isShown(row.path))
      rows.push({
        ...row,
        change,
        inside: inside.get(row.path) ?? 0,
        insideByOthers: byOthers.get(row.path) ?? 0,
        isGone: false,
        isNew: row.depth > added,
      });
    if (row.open || (row.path === '' && row.children === 0)) open.push({ path: row.path, depth: row.depth });
  }
  close(0);
  // The row of the scope itself is its heading.
  return rows.slice(1).map((row) => ({ ...row, depth: row.depth - 1 }));
}

function shownOnly(here: ReadonlyMap<string, Marked>, inside: ReadonlyMap<string, number>) {
  return (path: string) =>
    path === '' || here.has(path) || inside.has(path) || above(path).some((one) => one !== '' && here.has(one));
}
