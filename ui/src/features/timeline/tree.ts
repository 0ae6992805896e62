// The blocks of a request as the rows of a tree: parents above children, each level in the order it started.
// Pure, and quick enough to run again on every batch of a large run.
import type { BlockRow } from '../../host/host';

export type TreeRow = {
  block: BlockRow;
  depth: number;
  /** Which turn of a loop or entry of a list it is, like `[3]`; siblings there share their name. */
  turn: string;
  expandable: boolean;
  expanded: boolean;
  /** Where it stands among its siblings, from 1, as a screen reader says it. */
  position: number;
  siblings: number;
  /** What a folded row stands for. */
  inside: number;
  failedInside: number;
};

export function treeRows(blocks: readonly BlockRow[], folded: ReadonlySet<string>): TreeRow[] {
  const known = new Set(blocks.map((block) => block.instanceId));
  const children = new Map<string, BlockRow[]>();
  for (const block of blocks) {
    // A parent that is not there (yet) must not hide its children.
    const parent = block.parent && known.has(block.parent) ? block.parent : '';
    const list = children.get(parent);
    if (list) list.push(block);
    else children.set(parent, [block]);
  }
  const inside = countInside(blocks, known);
  const rows: TreeRow[] = [];
  const open: { list: BlockRow[]; next: number; above: string }[] = [
    { list: children.get('') ?? [], next: 0, above: '' },
  ];
  while (open.length > 0) {
    const level = open[open.length - 1];
    const block = level?.list[level.next++];
    if (!level || !block) {
      open.pop();
      continue;
    }
    const below = children.get(block.instanceId);
    const expanded = below !== undefined && !folded.has(block.instanceId);
    const counts = inside.get(block.instanceId);
    rows.push({
      block,
      depth: open.length - 1,
      turn: turnOf(block.path, level.above),
      expandable: below !== undefined,
      expanded,
      position: level.next,
      siblings: level.list.length,
      inside: counts?.all ?? 0,
      failedInside: counts?.failed ?? 0,
    });
    if (below && expanded) open.push({ list: below, next: 0, above: block.path });
  }
  return rows;
}

function turnOf(path: string, above: string): string {
  const own = path.startsWith(above) ? path.slice(above.length) : path;
  return own.match(/\[\d+\]/g)?.join('') ?? '';
}

/** Descendants of every block, counted from the last started to the first, so that each is visited once. */
function countInside(blocks: readonly BlockRow[], known: ReadonlySet<string>) {
  const counts = new Map<string, { all: number; failed: number }>();
  for (let at = blocks.length - 1; at >= 0; at--) {
    const block = blocks[at];
    if (!block?.parent || !known.has(block.parent)) continue;
    const own = counts.get(block.instanceId);
    const above = counts.get(block.parent) ?? { all: 0, failed: 0 };
    above.all += 1 + (own?.all ?? 0);
    above.failed += (block.status === 'failed' ? 1 : 0) + (own?.failed ?? 0);
    counts.set(block.parent, above);
  }
  return counts;
}

/** The row of a block, or of the nearest block above it that is visible. */
export function rowOf(rows: readonly TreeRow[], id: string | null, byId: ReadonlyMap<string, BlockRow>): number {
  for (let look = id; look; look = byId.get(look)?.parent ?? null) {
    const at = rows.findIndex((row) => row.block.instanceId === look);
    if (at >= 0) return at;
  }
  return -1;
}
