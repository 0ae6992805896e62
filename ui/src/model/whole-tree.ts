// All rows of a request, unfolded, read through a view of their own that is closed at once: what is open stays as it is.
import type { Host, ViewRow } from '../host/host';

/** Whole, as far as there are no more rows than this. */
export async function wholeTree(host: Host, request: string, most: number): Promise<{ rows: ViewRow[]; all: number }> {
  const head = await host.openView(request);
  try {
    const all = (await host.viewFold(head.view, { node: null, folded: false })) ?? 0;
    const { page, rows } = await host.viewRows(head.view, { offset: 0, limit: most });
    return { rows: page, all: Math.max(all, rows) };
  } finally {
    // The host closes it by itself if another folder was opened meanwhile.
    await host.closeView(head.view).catch(() => {});
  }
}
