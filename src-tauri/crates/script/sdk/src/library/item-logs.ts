// A list of items without what a later run made anew, and the items of each task.

interface Item {
  id: string;
  type: string;
  status?: string;
  itemIndex: number;
  taskId?: string;
  suspensionId?: string;
  refused?: boolean;
  blockInstanceId?: string;
  provenance?: { blockInstanceId?: string };
  component?: string;
  data?: { collectionId?: string; taskId?: string };
  toolCall?: { callId?: string };
}

/** The block of an instance, whichever attempt it was. */
function blockOf(item: Item): string | undefined {
  const instance = item.blockInstanceId ?? item.provenance?.blockInstanceId;
  const end = instance?.lastIndexOf(':') ?? -1;
  return end > 0 ? instance?.slice(0, end) : undefined;
}

const isTrace = ({ type }: Item): boolean => type === 'block_trace' || type === 'block_output';
const isToolOutput = ({ type }: Item): boolean => type === 'tool_output' || type === 'block_tool_output';

/** Of several: the last that is completed, or the last. */
function newest(items: Item[]): Item | undefined {
  return items.findLast((item) => item.status === 'completed') ?? items.at(-1);
}

function grouped(items: readonly Item[], keyOf: (item: Item) => string | undefined): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    if (key !== undefined) groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return groups;
}

/**
 * The items that count, where a block ran more than once because its request went on after a wait or a crash: those of
 * its last run. This engine's own lists hold only those already.
 */
export function collapseToCanonicalLog<T extends Item>(items: readonly T[]): T[] {
  const isAnswer = (item: Item) => item.type === 'suspension_resume' && item.refused !== true;
  const answered = new Set(items.filter(isAnswer).map((item) => item.suspensionId));
  const begins = new Map<string, number>();
  const beginAt = (block: string | undefined, index: number) => {
    if (block !== undefined) begins.set(block, Math.max(index, begins.get(block) ?? -1));
  };
  for (const item of items) {
    if (item.type === 'suspension' && answered.has(item.suspensionId)) beginAt(blockOf(item), item.itemIndex);
  }
  const traces = grouped(items.filter(isTrace), blockOf);
  const kept = new Set<Item>();
  for (const [block, all] of traces) {
    const last = newest(all) as Item;
    kept.add(last);
    if (all.length > 1) beginAt(block, last.itemIndex);
  }
  const calls = grouped(items.filter(isToolOutput), (item) => `${blockOf(item)} ${item.toolCall?.callId}`);
  for (const all of calls.values()) kept.add(newest(all) as Item);
  return items.filter((item) => {
    const block = blockOf(item);
    if (isTrace(item)) return block === undefined || kept.has(item);
    if (isToolOutput(item)) return kept.has(item);
    if (item.type === 'suspension' || item.type === 'suspension_resume' || block === undefined) return true;
    return item.itemIndex >= (begins.get(block) ?? -1);
  });
}

const BOARD = ['task-change', 'task-board-meta'];

/** The items that each task of a board emitted, in their order. */
export function attributeItemsToTasks<T extends Item>(items: readonly T[], collectionId: string): Map<string, T[]> {
  const changes = items.filter((item) => item.component === BOARD[0] && item.data?.collectionId === collectionId);
  const tasks = new Set(changes.map((item) => item.data?.taskId));
  const emitted = items.filter((item) => !BOARD.includes(item.component ?? ''));
  return grouped(emitted, ({ taskId }) => (tasks.has(taskId) ? taskId : undefined)) as Map<string, T[]>;
}

export function itemsForTask<T extends Item>(items: readonly T[], collectionId: string, taskId: string): T[] {
  return attributeItemsToTasks(items, collectionId).get(taskId) ?? [];
}

/** The ids of all items that belong to a task of a board. */
export function collectAttributedItemIds(items: readonly Item[], collectionId: string): Set<string> {
  const all = [...attributeItemsToTasks(items, collectionId).values()].flat();
  return new Set(all.map((item) => item.id));
}

/** Fields of an item that no update changes. */
export const ITEM_UPDATE_INVARIANT_KEYS: readonly string[] = [
  'id',
  'type',
  'requestId',
  'itemIndex',
  'ts',
  'provenance',
];

/** Whether a part of a message is there for the moment only. */
export function isEphemeralContent(part: { ephemeral?: unknown }): boolean {
  return part.ephemeral === true;
}
