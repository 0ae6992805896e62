// The scopes of a state view in their fixed order, and which of their paths changed.
import type { Change, StateView, ViewRow } from '../../host/host';

/** The block that a state belongs to, where it is known. */
type Owner = Pick<ViewRow, 'path' | 'name' | 'kind'>;

export type Scope = {
  id: string;
  name: string;
  of: string;
  value: unknown;
  version: number | null;
  testid: string;
  marks: ReadonlyMap<string, string>;
};

const FIXED = ['request', 'session', 'user', 'project'] as const;

export function scopesOf(state: StateView, changes: readonly Change[], byId: ReadonlyMap<string, Owner>): Scope[] {
  const scopes: Scope[] = FIXED.filter((name) => state[name] !== undefined && state[name] !== null).map((name) => ({
    id: name,
    name,
    of: '',
    value: state[name],
    version: state.versions[name] ?? null,
    testid: `scope-${name}`,
    marks: marksOf(changes, name, null),
  }));
  for (const [instance, value] of Object.entries(state.sequencers ?? {})) {
    const block = byId.get(instance);
    // Blocks other than sequencers may keep a state of their own, under their instance as well.
    const name = !block || block.kind === 'sequencer' ? 'sequencer' : 'block';
    scopes.push({
      id: instance,
      name,
      of: block?.path ?? instance,
      value,
      version: state.versions[instance] ?? null,
      testid: `scope-${name}`,
      marks: marksOf(changes, name, instance),
    });
  }
  for (const [of, value] of Object.entries(state.resources ?? {})) {
    const content = state.contents?.[of];
    scopes.push({
      id: `resource ${of}`,
      name: 'resource',
      of,
      value: content === undefined ? value : { ...(value as object), $content: content },
      version: state.versions[of] ?? null,
      testid: 'scope-resource',
      marks: marksOf(changes, 'resource', of),
    });
  }
  return scopes;
}

function marksOf(changes: readonly Change[], scope: string, instance: string | null): Map<string, string> {
  const marks = new Map<string, string>();
  for (const change of changes) {
    if (change.scope === scope && (change.instanceId ?? null) === instance) marks.set(change.path, change.kind);
  }
  return marks;
}

/** The name of the scope that a change belongs to, with the block whose sequencer it is. */
export function scopeName(change: Change, byId: ReadonlyMap<string, Owner>): string {
  if (!change.instanceId) return change.scope;
  return `${change.scope} ${byId.get(change.instanceId)?.name ?? change.instanceId}`;
}
