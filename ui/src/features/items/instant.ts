// The items that were there at an instant. Pure.
import type { Item, ViewRow } from '../../host/host';

/** Items come oldest first, so that an instant is a prefix; the list itself is returned where nothing is later. */
export function itemsAt(items: readonly Item[], seq: number): readonly Item[] {
  const end = items.findIndex((item) => item.seq > seq);
  return end < 0 ? items : items.filter((item) => item.seq <= seq);
}

/** Whether the text of an item may have grown after the instant: only models stream, and only until their block ends. */
export function isGrowing(item: Item, block: Pick<ViewRow, 'kind' | 'seqEnd'> | undefined, seq: number): boolean {
  return block?.kind === 'generator' && block.seqEnd != null && item.seq <= seq && seq < block.seqEnd;
}
