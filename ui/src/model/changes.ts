// Differences as the rows that a list of changes shows. Pure.
import type { Change } from '../host/host';
import { changedBy } from './writer';

export type ChangeRow = {
  id: string;
  group: string;
  path: string;
  kind: string;
  old?: unknown;
  new?: unknown;
  note?: string;
};

/** What requests share; any other state belongs to one request. */
const SHARED = new Set(['session', 'user', 'project', 'resource']);

/** Whether another request made a difference between two instants of one: no event of that one wrote it. */
export const isByAnother = ({ scope, seq }: Pick<Change, 'scope' | 'seq'>): boolean => SHARED.has(scope) && seq == null;

/** `session`, or which of several: `sequencer[root/step:plan]`, `session/notes`. */
function scopeOf({ scope, instanceId }: Change): string {
  if (!instanceId) return scope;
  if (scope === 'resource') return instanceId;
  const path = instanceId.slice(instanceId.indexOf(':') + 1).replace(/:\d+$/, '');
  return path === 'root' ? scope : `${scope}[${path}]`;
}

/** One row a difference, named by its scope and place; a note says which block or edit wrote it, and when. */
export const changeRows = (changes: readonly Change[]): ChangeRow[] =>
  changes.map((change, n) => {
    const by = changedBy(change);
    const note = [by && `by ${by}`, change.seq && `at #${change.seq}`].filter(Boolean).join(', ');
    return {
      id: `${n} ${change.scope} ${change.path}`,
      group: change.scope,
      path: change.path ? `${scopeOf(change)}.${change.path}`.replace('.[', '[') : scopeOf(change),
      kind: change.kind,
      old: change.old,
      new: change.new,
      ...(note && { note }),
    };
  });
