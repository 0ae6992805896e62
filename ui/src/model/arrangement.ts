// How somebody arranged the rows of a request: what is folded, and the filter. A view that is opened anew, because the
// folder was, is arranged as the one before it.
import type { Host } from '../host/host';

/** Whether nodes are folded, in the order it was said; null stands for all of them. */
export type Folds = Map<number | null, boolean>;

/** The newest word on a node is the one that counts, and one on all of them makes up for those before it. */
export function noteFold(folds: Folds, node: number | null, isFolded: boolean): void {
  if (node === null) folds.clear();
  folds.delete(node);
  folds.set(node, isFolded);
}

/** Answers how many rows there are then; null where nothing was arranged. A node that is no longer there is left out. */
export async function arrange(host: Host, view: number, folds: Folds, filter: string): Promise<number | null> {
  let rows: number | null = null;
  for (const [node, folded] of folds) rows = await host.viewFold(view, { node, folded }).catch(() => rows);
  if (!filter) return rows;
  return host.viewFilter(view, filter).then(
    (fits) => fits.rows,
    () => rows,
  );
}
