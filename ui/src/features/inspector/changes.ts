// The changes of a block as a tree: places that share a beginning stand below it once, so that what belongs together
// is read together. A branch that only leads to one place is joined with it.
import { parsePath, formatPath, type Step } from '../../base/path';
import type { Change } from '../../host/host';

export type ChangeRow = {
  id: string;
  depth: number;
  /** What is added to the row above it. */
  label: string;
  /** Of a row that stands for a place: the whole place, as the history takes it, and what changed there. */
  place: string | null;
  change: Change | null;
};

type Branch = { steps: Step[]; change: Change | null; below: Map<string, Branch> };

const SCOPES = new Set(['session', 'user', 'project', 'request']);

/** How the history of a place is asked for: `session.topic`, `sequencer[root/step:plan].steps[0]`. */
export function placeOf(change: Change): string {
  const { scope, instanceId, path } = change;
  if (SCOPES.has(scope) || !instanceId) return join(scope, path);
  const [, inner = instanceId] = /^[^:]*:(.*):\d+$/.exec(instanceId) ?? [];
  return join(`${scope}[${inner}]`, path);
}

/** A change's place as places are watched. */
export function watchedOf({ scope, instanceId, path }: Change): { scope: string; of: string; path: string } {
  const [, inner = ''] = /^[^:]*:(.*):\d+$/.exec(instanceId ?? '') ?? [];
  return { scope, of: SCOPES.has(scope) ? '' : inner, path };
}

const join = (scope: string, path: string) =>
  path === '' ? scope : path.startsWith('[') ? scope + path : `${scope}.${path}`;

export function changeRows(changes: readonly Change[]): ChangeRow[] {
  const rows: ChangeRow[] = [];
  const scopes = new Map<string, Change[]>();
  for (const change of changes) {
    const key = placeOf({ ...change, path: '' });
    scopes.set(key, [...(scopes.get(key) ?? []), change]);
  }
  for (const [scope, list] of scopes) {
    const root: Branch = { steps: [], change: null, below: new Map() };
    for (const change of list) insert(root, parsePath(change.path), change);
    rows.push({ id: scope, depth: 0, label: scope, place: root.change ? scope : null, change: root.change });
    for (const branch of root.below.values()) write(branch, 1, scope, rows);
  }
  return rows;
}

function insert(root: Branch, steps: readonly Step[], change: Change) {
  let at = root;
  for (const step of steps) {
    const key = `${typeof step} ${step}`;
    const next = at.below.get(key) ?? { steps: [step], change: null, below: new Map<string, Branch>() };
    at.below.set(key, next);
    at = next;
  }
  at.change = change;
}

function write(branch: Branch, depth: number, above: string, rows: ChangeRow[]) {
  let [steps, at] = [branch.steps, branch];
  while (!at.change && at.below.size === 1) {
    const [only] = at.below.values();
    if (!only) break;
    [steps, at] = [[...steps, ...only.steps], only];
  }
  const label = formatPath(steps);
  const id = join(above, label);
  rows.push({ id, depth, label, place: at.change ? placeOf(at.change) : null, change: at.change });
  for (const below of at.below.values()) write(below, depth + 1, id, rows);
}

/** `+3 ~1 −0`: how many places were added, changed (or moved), removed. */
export function tally(changes: readonly Change[]): { added: number; changed: number; removed: number } {
  const count = (...kinds: Change['kind'][]) => changes.filter((change) => kinds.includes(change.kind)).length;
  return { added: count('added'), changed: count('changed', 'moved'), removed: count('removed') };
}
