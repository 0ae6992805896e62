// The scopes of a state view in their fixed order, with their changes, and the names of places in them.
import { child } from '../../base/path';
import type { Change, StateView, ViewRow } from '../../host/host';
import type { Watched } from '../../model/watches.svelte';
import { isChanged, marksOf, type Marks } from './tree';

/** The block that a state belongs to, if it is known. */
type Owner = Pick<ViewRow, 'path' | 'name' | 'kind'>;

export type Scope = {
  id: string;
  name: string;
  of: string;
  value: unknown;
  version: number | null;
  testid: string;
  marks: Marks;
};

const FIXED = ['request', 'session', 'user', 'project'] as const;

export function scopesOf(state: StateView, changes: readonly Change[], byId: ReadonlyMap<string, Owner>): Scope[] {
  const changesOf = (scope: string, instance: string | null) =>
    marksOf(changes.filter((one) => one.scope === scope && (one.instanceId ?? null) === instance));
  const scopes: Scope[] = FIXED.filter((name) => state[name] !== undefined && state[name] !== null).map((name) => ({
    id: name,
    name,
    of: '',
    value: state[name],
    version: state.versions[name] ?? null,
    testid: `scope-${name}`,
    marks: changesOf(name, null),
  }));
  for (const [instance, value] of Object.entries(state.sequencers ?? {})) {
    const block = byId.get(instance);
    // Other blocks than sequencers may also have a state, under their instance.
    const name = !block || block.kind === 'sequencer' ? 'sequencer' : 'block';
    scopes.push({
      id: instance,
      name,
      of: block?.path ?? instance,
      value,
      version: state.versions[instance] ?? null,
      testid: `scope-${name}`,
      marks: changesOf(name, instance),
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
      marks: changesOf('resource', of),
    });
  }
  return scopes;
}

/** Sorts scopes that the request changed first, and otherwise keeps the order. */
export const changedFirst = (scopes: readonly Scope[]): Scope[] =>
  [...scopes].sort((one, other) => Number(isChanged(other.marks)) - Number(isChanged(one.marks)));

/** The name of a place, as `history` takes it: `session.topic`, `sequencer[root/step:plan].steps[0]`. */
export function placeName({ name, of }: Pick<Scope, 'name' | 'of'>, path: string): string {
  const scope = of ? `${name}[${of}]` : name;
  return path.startsWith('[') || path === '' ? `${scope}${path}` : `${scope}.${path}`;
}

export const watchedOf = ({ name, of }: Scope, path: string): Watched => ({ scope: name, of, path });

const MOST_FOUND = 200;

/** The first places of a scope whose name or text contains a text. */
export function findIn(value: unknown, text: string): Set<string> {
  const wanted = text.trim().toLowerCase();
  const found = new Set<string>();
  if (!wanted) return found;
  const visit = (one: unknown, path: string, name: string) => {
    if (found.size >= MOST_FOUND) return;
    const isPlain = typeof one !== 'object' || one === null;
    if (name.toLowerCase().includes(wanted) || (isPlain && String(one).toLowerCase().includes(wanted))) found.add(path);
    if (Array.isArray(one)) one.forEach((inner, n) => visit(inner, child(path, n), ''));
    else if (!isPlain) for (const key in one) visit((one as Record<string, unknown>)[key], child(path, key), key);
  };
  visit(value, '', '');
  found.delete('');
  return found;
}
