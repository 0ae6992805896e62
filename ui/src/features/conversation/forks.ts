// A list of forks as the rows of a tree: each below what it was forked from, with how deep it is. Pure.
import type { ForkRow } from '../../host/host';

export type Branch = { fork: ForkRow; depth: number };

export function branchesOf(forks: readonly ForkRow[]): Branch[] {
  const known = new Set(forks.map((fork) => fork.id));
  const below = new Map<string, ForkRow[]>();
  const roots: ForkRow[] = [];
  for (const fork of forks) {
    const { parent } = fork;
    if (parent == null || parent === fork.id || !known.has(parent)) roots.push(fork);
    else below.set(parent, [...(below.get(parent) ?? []), fork]);
  }
  const branches: Branch[] = [];
  const open = roots.reverse().map((fork) => ({ fork, depth: 0 }));
  for (let next = open.pop(); next; next = open.pop()) {
    branches.push(next);
    const { fork, depth } = next;
    for (const one of (below.get(fork.id) ?? []).toReversed()) open.push({ fork: one, depth: depth + 1 });
  }
  return branches;
}
