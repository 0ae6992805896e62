// How somebody arranged the rows of a request: what is folded, and the filter. A view that is opened anew, because the
// folder was, is arranged as the one before it.
import { asFault, type Fault, type Filtered, type Host } from '../host/host';

/** Whether nodes are folded, in the order it was said; null stands for all of them. */
export type Folds = Map<number | null, boolean>;

/** The newest word on a node is the one that counts, and one on all of them makes up for those before it. */
export function noteFold(folds: Folds, node: number | null, isFolded: boolean): void {
  if (node === null) folds.clear();
  folds.delete(node);
  folds.set(node, isFolded);
}

/**
 * Answers how many rows there are then (null if nothing was arranged) and what became of the filter. A node that is no
 * longer there is left out.
 */
export async function arrange(host: Host, view: number, folds: Folds, filter: string) {
  let rows: number | null = null;
  for (const [node, folded] of folds) rows = await host.viewFold(view, { node, folded }).catch(() => rows);
  const filtered: Filtered | Fault | null = filter ? await host.viewFilter(view, filter).catch(asFault) : null;
  if (filtered && !('kind' in filtered)) rows = filtered.rows;
  return { rows, filtered };
}
