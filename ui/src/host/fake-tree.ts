// The rows of a view from the blocks of a recording: group rows, folds and a filter, plainly computed from all blocks.
// The Rust side advances its rows by what is new; a recording is small enough to be laid out again.
import type { BlockRow, Sums, ViewGroup, ViewRow } from './host';

/** A block, or a group of siblings, with what is below it. */
export type TreeNode = {
  node: number;
  block: BlockRow | null;
  group: ViewGroup['of'] | null;
  label: string;
  children: TreeNode[];
  parent: TreeNode | null;
};

const GROUP_FROM = 8;
const CELLS = 48;

export function treeOf(blocks: readonly BlockRow[], numberOf: (key: string) => number): TreeNode[] {
  const known = new Set(blocks.map((block) => block.instanceId));
  const below = new Map<string, BlockRow[]>();
  for (const block of blocks) {
    const parent = block.parent && known.has(block.parent) ? block.parent : '';
    const list = below.get(parent);
    if (list) list.push(block);
    else below.set(parent, [block]);
  }
  const build = (parent: string, above: TreeNode | null): TreeNode[] => {
    const list = below.get(parent) ?? [];
    const attempts = countBy(list, (block) => block.path);
    const turns = countBy(list, (block) => turnKey(block.path));
    const groups = new Map<string, TreeNode>();
    const nodes: TreeNode[] = [];
    for (const block of list) {
      const turn = turnKey(block.path);
      let around = above;
      let into = nodes;
      const enter = (key: string, of: ViewGroup['of'], label: string) => {
        let group = groups.get(key);
        if (!group) {
          group = { node: numberOf(`${parent} ${key}`), block: null, group: of, label, children: [], parent: around };
          groups.set(key, group);
          into.push(group);
        }
        around = group;
        into = group.children;
      };
      if (turn !== block.path && (turns.get(turn) ?? 0) >= GROUP_FROM)
        enter(turn, 'turns', block.name + indexOf(block.path));
      if ((attempts.get(block.path) ?? 0) >= 2) enter(`~${block.path}`, 'attempts', block.name + indexOf(block.path));
      const own: TreeNode = {
        node: numberOf(block.instanceId),
        block,
        group: null,
        label: block.name + indexOf(block.path),
        children: [],
        parent: around,
      };
      own.children = build(block.instanceId, own);
      into.push(own);
    }
    return nodes;
  };
  return build('', null);
}

function countBy(list: readonly BlockRow[], key: (block: BlockRow) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const block of list) counts.set(key(block), (counts.get(key(block)) ?? 0) + 1);
  return counts;
}

const turnKey = (path: string) => path.replace(/[[~]\d+\]?$/, '[]');
const indexOf = (path: string) => /\[\d+\]$/.exec(path)?.[0] ?? '';

export const beginsFolded = (node: TreeNode) => node.group !== null && node.children.length > GROUP_FROM;

export function countBelow(node: TreeNode): number {
  return node.children.reduce((sum, child) => sum + 1 + countBelow(child), 0);
}

/** A row as it stood at an instant; null for the newest. */
export function rowOfNode(
  node: TreeNode,
  depth: number,
  at: number | null,
): Omit<ViewRow, 'isFolded' | 'position' | 'siblings' | 'matches' | 'hidden'> {
  const common = {
    node: node.node,
    depth,
    label: node.label,
    hasChildren: node.children.length > 0,
    isCritical: false,
  };
  const nothing = { memoized: false, caught: false, modelCalls: 0, promptTokens: 0, completionTokens: 0 };
  const { block } = node;
  if (!block) {
    const members = spansOf(node);
    const from = Math.min(...members.map((one) => one.startedAt));
    const to = Math.max(...members.map((one) => one.startedAt + (one.durationMs ?? 0)));
    const cells = Array<number>(CELLS).fill(0);
    for (const one of members) {
      const cell = Math.floor(((one.startedAt - from) / Math.max(1, to - from)) * CELLS);
      cells[Math.min(CELLS - 1, cell)]! += 1;
    }
    const count = (status: BlockRow['status']) => members.filter((one) => statusAt(one, at) === status).length;
    const [failed, running, suspended] = [count('failed'), count('running'), count('suspended')];
    const newest = members.findLast((one) => statusAt(one, at) !== null);
    const turns = running ? 'running' : failed ? 'failed' : suspended ? 'suspended' : 'completed';
    const status = node.group === 'attempts' && newest ? statusAt(newest, at) : turns;
    return {
      ...common,
      ...nothing,
      status: members.some((one) => statusAt(one, at) !== null) ? status : null,
      startedAt: from,
      durationMs: members.some((one) => one.durationMs == null || (at !== null && (one.seqEnd ?? 0) > at))
        ? null
        : to - from,
      seqStart: Math.min(...members.map((one) => one.seqStart)),
      changes: 0,
      items: 0,
      sums: sumsOf(node, at),
      group: { of: node.group ?? 'turns', count: members.length, failed, running, suspended, cells },
    };
  }
  // What had not ended has no end yet, and what it had done until then is not known.
  const isOver = at === null || (block.seqEnd != null && block.seqEnd <= at);
  const tokens = isOver ? tokensOf(block) : 0;
  return {
    ...common,
    ...nothing,
    instanceId: block.instanceId,
    path: block.path,
    name: block.name,
    kind: block.kind,
    attempt: block.attempt,
    status: statusAt(block, at),
    startedAt: block.startedAt,
    durationMs: isOver ? (block.durationMs ?? null) : null,
    seqStart: block.seqStart,
    seqEnd: isOver ? (block.seqEnd ?? null) : null,
    memoized: block.memoized,
    modelCalls: tokens ? 1 : 0,
    promptTokens: tokens,
    completionTokens: Math.round(tokens / 5),
    changes: isOver ? block.changes : 0,
    items: isOver ? block.items : 0,
    sums: sumsOf(node, at),
    error: isOver ? (block.error?.message ?? null) : null,
  };
}

const tokensOf = (block: BlockRow) =>
  block.kind === 'generator' && block.durationMs ? 300 + (block.seqStart % 700) : 0;

/** What a node and everything below it spent and wrote, as far as it had ended. */
function sumsOf(node: TreeNode, at: number | null): Sums {
  const { block } = node;
  const below = node.children.map((child) => sumsOf(child, at));
  const isOver = at === null || (block?.seqEnd != null && block.seqEnd <= at);
  if (block && !isOver) return addSums([]);
  return addSums([...below, ...(block ? [sumsOfBlock(block)] : [])]);
}

export function sumsOfBlock(block: BlockRow): Sums {
  const tokens = tokensOf(block);
  const [promptTokens, completionTokens] = [tokens, Math.round(tokens / 5)];
  const cost = tokens ? tokens * 2e-6 : null;
  return { modelCalls: tokens ? 1 : 0, promptTokens, completionTokens, changes: block.changes, cost, unpriced: 0 };
}

export function addSums(all: readonly Sums[]): Sums {
  const sum: Sums = { modelCalls: 0, promptTokens: 0, completionTokens: 0, changes: 0, cost: null, unpriced: 0 };
  for (const one of all) {
    for (const name of ['modelCalls', 'promptTokens', 'completionTokens', 'changes'] as const) sum[name] += one[name];
    if (one.cost != null) sum.cost = (sum.cost ?? 0) + one.cost;
  }
  return sum;
}

/** The blocks a group stands for: its members, and of grouped attempts inside it each of them. */
export function spansOf(node: TreeNode): BlockRow[] {
  return node.children.flatMap((child) => (child.block ? [child.block] : spansOf(child)));
}

export function statusAt(block: BlockRow, at: number | null): BlockRow['status'] | null {
  if (at === null) return block.status;
  if (block.seqStart > at) return null;
  return block.seqEnd && block.seqEnd > at ? 'running' : block.status;
}
