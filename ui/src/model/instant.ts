// How a block stood just after an event. A past instant never shows the future: what had not begun has no outcome,
// and what had not ended was running. Pure.
import type { BlockRow } from '../host/host';
import { lookOf, lookThen, type Look } from './status';

export type BlockAt = {
  look: Look;
  /** For patterns of bars: a block status, or `ahead`. */
  status: BlockRow['status'] | 'ahead';
  begun: boolean;
  /** Whether everything that is known of the block belongs to the instant: its outcome, its duration, its counts. */
  isFinal: boolean;
};

const AHEAD: Look = { label: 'Not begun', tone: 'idle', icon: 'dashed' };

/** `newest` is the last event that is known: at it, a block without an end is what its row says. */
export function blockAt(block: BlockRow, seq: number, newest: number): BlockAt {
  if (block.seqStart > seq) return { look: AHEAD, status: 'ahead', begun: false, isFinal: false };
  const isFinal = block.seqEnd != null ? block.seqEnd <= seq : seq >= newest;
  const status = isFinal ? block.status : 'running';
  const look = seq < newest ? lookThen(status) : lookOf(status);
  return { look, status, begun: true, isFinal };
}
