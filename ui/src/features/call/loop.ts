// The loops of a request's agents and delegates as the rows of a tree: ticks, and the Calls that each of them answered.
// Pure. Everything comes from the timeline's rows, so it is there at once and costs no payload.
import { thousands } from '../../base/thousands';
import type { BlockRow, BlockStatus } from '../../host/host';
import { above, callPlace, newestAt, statusAt, type CallPlace } from '../../model/calls';

export type LoopRow = {
  block: BlockRow;
  place: CallPlace | null;
  depth: number;
  name: string;
  /** What a tick answered, or who makes the result of a Call. */
  note: string;
  status: BlockStatus;
  expandable: boolean;
  expanded: boolean;
  position: number;
  siblings: number;
};

const MOST_NAMED = 4;

/** The rows at an instant. An agent's row stands around its ticks; a delegate's ticks are right below its Call. */
export function loopRows(blocks: readonly BlockRow[], seq: number, folded: ReadonlySet<string>): LoopRow[] {
  const newest = newestAt(blocks, seq);
  const below = new Map<string, BlockRow[]>();
  const makers = new Map<string, string>();
  for (const block of newest.values()) {
    const place = callPlace(block.path);
    const maker = place ? null : makerOf(block);
    if (maker) makers.set(above(block.path), maker);
    if (!place) continue;
    const around = aroundOf(block, newest);
    const list = below.get(around.path);
    if (list) list.push(block);
    else below.set(around.path, [block]);
  }
  // Calls run as soon as they can; they are read in the order of their solution.
  const index = (block: BlockRow) => callPlace(block.path)?.index ?? 0;
  for (const list of below.values()) list.sort((one, two) => index(one) - index(two));
  const rows: LoopRow[] = [];
  const visit = (list: readonly BlockRow[], depth: number) => {
    list.forEach((block, at) => {
      const inside = below.get(block.path) ?? [];
      const expanded = inside.length > 0 && !folded.has(block.path);
      const place = callPlace(block.path);
      rows.push({
        block,
        place,
        depth,
        name: nameOf(block, place),
        note: noteOf(block, place, inside, seq, makers),
        status: statusAt(block, seq),
        expandable: inside.length > 0,
        expanded,
        position: at + 1,
        siblings: list.length,
      });
      if (expanded) visit(inside, depth + 1);
    });
  };
  const agents = [...below.keys()].filter((path) => !callPlace(path)).flatMap((path) => newest.get(path) ?? []);
  visit(agents, 0);
  return rows;
}

/** A Call belongs to its tick; a tick to the Call that was handed over, or to the block of its agent. */
function aroundOf(block: BlockRow, newest: ReadonlyMap<string, BlockRow>): { path: string } {
  const parent = above(block.path);
  if (parent.slice(parent.lastIndexOf('/') + 1).startsWith('delegate:') && callPlace(above(parent))) {
    return { path: above(parent) };
  }
  return newest.get(parent) ?? { path: parent };
}

function makerOf(block: BlockRow): string | null {
  const own = block.path.slice(block.path.lastIndexOf('/') + 1);
  if (!callPlace(above(block.path))) return null;
  if (own.startsWith('activity:')) return `Activity ${block.name}`;
  return own.startsWith('delegate:') ? `handed to ${block.name}` : null;
}

function nameOf(block: BlockRow, place: CallPlace | null): string {
  if (!place) return block.name;
  return place.role === 'tick' ? `tick ${place.index}` : `${place.name}[${place.index}]`;
}

function noteOf(
  block: BlockRow,
  place: CallPlace | null,
  inside: readonly BlockRow[],
  seq: number,
  makers: ReadonlyMap<string, string>,
): string {
  if (!place) return inside.length === 1 ? '1 tick' : `${inside.length} ticks`;
  if (place.role === 'tick') return inside.length > 0 ? `calls ${named(inside)}` : endOf(statusAt(block, seq));
  const maker = makers.get(block.path) ?? '';
  const later = place.role === 'work' ? 'not waited for' : '';
  return [maker, later].filter(Boolean).join(', ');
}

function endOf(status: BlockStatus): string {
  if (status === 'completed') return 'no calls';
  return status === 'running' ? 'asks its model' : '';
}

function named(calls: readonly BlockRow[]): string {
  const counts = new Map<string, number>();
  for (const call of calls) {
    const name = callPlace(call.path)?.name ?? call.name;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const all = [...counts].map(([name, count]) => (count > 1 ? `${name} × ${thousands(count)}` : name));
  const more = all.length - MOST_NAMED;
  return all.slice(0, MOST_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
