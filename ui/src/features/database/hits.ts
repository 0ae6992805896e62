// Places of a text, as a person reads them: below their requests, and where in a block they are to be seen. Pure.
import type { HitRow, ListedRequest } from '../../host/host';

export type HitGroup = { id: string; request: ListedRequest | undefined; hits: HitRow[] };

/** Hits of one request stand together; one that was deleted meanwhile has only its id. */
export function byRequest(hits: readonly HitRow[], requests: readonly ListedRequest[]): HitGroup[] {
  const groups = new Map<string, HitGroup>();
  for (const hit of hits) {
    const id = hit.requestId;
    const group = groups.get(id) ?? { id, request: requests.find((one) => one.id === id), hits: [] };
    group.hits.push(hit);
    groups.set(id, group);
  }
  return [...groups.values()];
}

const TABS: Partial<Record<HitRow['where'], string>> = {
  input: 'input',
  output: 'output',
  item: 'items',
  state: 'changes',
  log: 'log',
};

/** The tab of the inspector that shows it; null where none does, or several may. */
export const tabOf = (where: HitRow['where']): string | null => TABS[where] ?? null;
