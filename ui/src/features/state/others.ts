// Which requests are offered to be compared with one. Pure.
import type { ListedRequest } from '../../host/host';

/** Of each kind so many; whoever looks for an older one has its id. */
const MOST = 8;

export type Others = { same: ListedRequest[]; other: ListedRequest[] };

/** The last runs of the same flow, and those of others, newest first, without itself and what is offered already. */
export function othersOf(
  rows: readonly ListedRequest[],
  of: { id: string; flow: string } | null,
  without: readonly { id: string }[],
): Others {
  const known = new Set([of?.id, ...without.map((one) => one.id)]);
  const left = rows.filter((one) => !known.has(one.id));
  return {
    same: left.filter((one) => one.flow === of?.flow).slice(0, MOST),
    other: left.filter((one) => one.flow !== of?.flow).slice(0, MOST),
  };
}
