// Which blocks of a request are ticks and Calls, by their paths, and which one is looked at.
// Structure only: what a Call may see stands in its input, and is read by whoever shows it.
import type { BlockRow, BlockStatus } from '../host/host';

export type CallRole = 'tick' | 'call' | 'work';
/** A tick or a Call by its path; `work` is a Call that the next request does not wait for. */
export type CallPlace = { role: CallRole; name: string; index: number };
/** The tick or the Call that is looked at, and the tick around it, which knows the whole context. */
export type CallFocus = { block: BlockRow; tick: BlockRow; role: CallRole };

const TICK = /^tick\[(\d+)\]$/;
const CALL = /^(call|work):(.+)\[(\d+)\]$/s;

export const above = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));
const last = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** Names in paths are percent-encoded; one that is not is shown as it is. */
function decode(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

export function callPlace(path: string): CallPlace | null {
  const own = last(path);
  const tick = TICK.exec(own);
  if (tick) return { role: 'tick', name: 'tick', index: Number(tick[1]) };
  const call = CALL.exec(own);
  // A chain has background work of its own, whose segment looks the same; a Call's is right below a tick.
  if (!call || !TICK.test(last(above(path)))) return null;
  return { role: call[1] as CallRole, name: decode(call[2] ?? ''), index: Number(call[3]) };
}

/** The newest execution of each path that had begun at an instant, in the order in which the paths began. */
export function newestAt(blocks: readonly BlockRow[], seq: number): Map<string, BlockRow> {
  const found = new Map<string, BlockRow>();
  for (const block of blocks) {
    if (block.seqStart > seq) continue;
    const known = found.get(block.path);
    if (!known || known.attempt <= block.attempt) found.set(block.path, block);
  }
  return found;
}

/** How a block stood at an instant: one whose end lies in the future was running. */
export const statusAt = (block: BlockRow, seq: number): BlockStatus =>
  block.seqEnd && block.seqEnd <= seq ? block.status : 'running';

/**
 * What the page shows: the tick or the Call that is selected or has the selected block inside; and where none is,
 * the Call that waits for a person, else the first one, else the first tick.
 */
export function focusOf(
  blocks: readonly BlockRow[],
  byId: ReadonlyMap<string, BlockRow>,
  selected: string | null,
  seq: number,
): CallFocus | null {
  const newest = newestAt(blocks, seq);
  for (let look = selected && nearest(selected, byId, newest); look; look = byId.get(look)?.parent ?? null) {
    const block = byId.get(look);
    const found = block && focusOn(block, byId, callPlace(block.path));
    if (found) return found;
  }
  let first: CallFocus | null = null;
  let firstTick: CallFocus | null = null;
  for (const block of newest.values()) {
    const found = focusOn(block, byId, callPlace(block.path));
    if (found?.role === 'tick') firstTick ??= found;
    else if (found && statusAt(block, seq) === 'suspended' && !waitsInside(block, newest)) return found;
    else if (found && (!first || isBefore(found, first))) first = found;
  }
  return first ?? firstTick;
}

/** A block inside of a Call is not one of these; its id, `request:path:attempt`, tells which of them is around it. */
function nearest(
  selected: string,
  byId: ReadonlyMap<string, BlockRow>,
  newest: ReadonlyMap<string, BlockRow>,
): string | null {
  if (byId.has(selected)) return selected;
  const [, inside] = /^[^:]*:(.*):\d+$/s.exec(selected) ?? [];
  for (let path = above(inside ?? ''); path; path = above(path)) {
    const found = newest.get(path);
    if (found) return found.instanceId;
  }
  return null;
}

/** Calls run as soon as they can, so the first of a solution need not be the first that began. */
const isBefore = (one: CallFocus, other: CallFocus): boolean =>
  one.tick === other.tick && (callPlace(one.block.path)?.index ?? 0) < (callPlace(other.block.path)?.index ?? 0);

/** A Call is suspended too where its delegate waits; the one that asks has nothing inside that waits. */
function waitsInside(block: BlockRow, newest: ReadonlyMap<string, BlockRow>): boolean {
  const inside = `${block.path}/`;
  for (const one of newest.values()) if (one.status === 'suspended' && one.path.startsWith(inside)) return true;
  return false;
}

function focusOn(block: BlockRow, byId: ReadonlyMap<string, BlockRow>, place: CallPlace | null): CallFocus | null {
  if (!place) return null;
  if (place.role === 'tick') return { block, tick: block, role: 'tick' };
  const tick = block.parent ? byId.get(block.parent) : undefined;
  return tick ? { block, tick, role: place.role } : null;
}
