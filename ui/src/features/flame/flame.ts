// The blocks of a request as a flame graph: each is as wide as its total, and blocks of one name inside one block are
// merged. Pure.
import type { BlockKind, ViewRow } from '../../host/host';
import { workedMs } from '../../model/pause';

export type Measure = 'time' | 'tokens' | 'cost';

export type Flame = {
  name: string;
  kind: BlockKind | null;
  /** How many executions are merged, and how many of them failed. */
  count: number;
  failed: number;
  /** In milliseconds, tokens or US dollars; never less than the sum of the blocks inside. */
  value: number;
  /** One of its executions: the largest. */
  instanceId: string | null;
  largest: number;
  inside: Flame[];
};

export type Box = { flame: Flame; depth: number; from: number; to: number };

const own = (row: ViewRow, measure: Measure): number => {
  if (measure === 'time') return workedMs({ ...row, durationMs: row.durationMs ?? row.cutMs }) ?? 0;
  const { promptTokens, completionTokens, cost } = row.sums;
  return measure === 'tokens' ? promptTokens + completionTokens : (cost ?? 0);
};

const empty = (name: string, kind: BlockKind | null): Flame => ({
  name,
  kind,
  count: 0,
  failed: 0,
  value: 0,
  instanceId: null,
  largest: -1,
  inside: [],
});

/** Builds the tree: each row is inside the last one that is less deep. Rows taken from the log took no time. */
export function flameOf(rows: readonly ViewRow[], measure: Measure): Flame {
  const root = empty('request', null);
  const known = new Map<Flame, Map<string, Flame>>();
  const around: { depth: number; flame: Flame }[] = [];
  for (const row of rows) {
    while ((around[around.length - 1]?.depth ?? -1) >= row.depth) around.pop();
    const parent = around[around.length - 1]?.flame ?? root;
    // A group is not a block: its rows belong to the block around it.
    if (row.group || !row.name) {
      around.push({ depth: row.depth, flame: parent });
      continue;
    }
    const siblings = known.get(parent) ?? new Map<string, Flame>();
    known.set(parent, siblings);
    const key = `${row.kind} ${row.name}`;
    const flame = siblings.get(key) ?? empty(row.name, row.kind ?? null);
    if (!siblings.has(key)) {
      siblings.set(key, flame);
      parent.inside.push(flame);
    }
    const value = row.memoized && measure === 'time' ? 0 : own(row, measure);
    flame.count += 1;
    flame.failed += row.status === 'failed' ? 1 : 0;
    flame.value += value;
    if (value > flame.largest) [flame.largest, flame.instanceId] = [value, row.instanceId ?? null];
    around.push({ depth: row.depth, flame });
  }
  settle(root);
  return root;
}

/** Concurrent blocks may take more time in total than their parent. Innermost first, without recursion. */
function settle(root: Flame) {
  const order: Flame[] = [];
  const open = [root];
  for (let flame = open.pop(); flame; flame = open.pop()) {
    order.push(flame);
    open.push(...flame.inside);
  }
  for (const flame of order.reverse()) {
    const inside = flame.inside.reduce((sum, one) => sum + one.value, 0);
    flame.value = Math.max(flame.value, inside);
    flame.inside.sort((a, b) => b.value - a.value);
  }
}

/** Narrower boxes are not drawn. */
const NARROWEST = 0.001;
const MOST_BOXES = 3_000;

/** The boxes to draw, with one block as wide as all; their places go from 0 to 1, and none leaves the box it is in. */
export function boxesOf(flame: Flame): Box[] {
  const boxes: Box[] = [];
  const open: Box[] = [{ flame, depth: 0, from: 0, to: 1 }];
  for (let box = open.shift(); box && boxes.length < MOST_BOXES; box = open.shift()) {
    boxes.push(box);
    if (box.flame.value <= 0) continue;
    const scale = (box.to - box.from) / box.flame.value;
    let { from } = box;
    for (const inner of box.flame.inside) {
      // Sums of fractions may pass the end by a rounding error.
      const to = Math.min(box.to, from + inner.value * scale);
      if (to - from >= NARROWEST) open.push({ flame: inner, depth: box.depth + 1, from, to });
      from = to;
    }
  }
  return boxes;
}
