// The folded rows and the filter of a request view. They are restored when its folder is opened again.
import { asFault, type Fault, type Filtered, type Host } from '../host/host';

/** Whether nodes are folded, in the order it was said; null stands for all of them. */
export type Folds = Map<number | null, boolean>;

/** The newest entry of a node counts; an entry for all nodes replaces those before it. */
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
