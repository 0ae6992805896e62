// A page for one audience: the items that it sees, and of the request what it knows anyway. The file has no more.
import type { Item } from '../bindings';
import type { Chunks } from './chunks';
import { Values } from './values';

export type ShownHead = {
  format: number;
  audience: 'client' | 'history';
  flowglass: string;
  madeAt: number;
  request: {
    id: string;
    sessionId: string;
    flow: string;
    action: string;
    status: string;
    startedAt: number;
    finishedAt: number | null;
  };
  chunks: { items: number; values: number[] };
};

export async function shownItems(chunks: Chunks, { chunks: sizes }: ShownHead): Promise<Item[]> {
  const values = new Values(chunks, sizes.values);
  const read = Array.from({ length: sizes.items }, (_, at) => chunks.load<unknown[]>(`items-${at}`));
  return values.read<Item[]>((await Promise.all(read)).flat());
}
