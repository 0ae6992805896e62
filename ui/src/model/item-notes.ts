// Folds items that are not part of a conversation, such as state changes, into lines between the messages. Pure.
import { plural } from '../base/json';
import type { Item, ItemView, ViewItem } from '../host/host';
import type { Audience } from '../place';
import { failureOf } from './item';

/** Which items are read for an audience of the window. */
export const readFor = (audience: Audience): ItemView => (audience === 'messages' ? 'all' : audience);

/** The label, the tooltip and the empty state of each audience. */
export const AUDIENCE_WORDS: Record<Audience, { label: string; title: string; none: string }> = {
  messages: {
    label: 'Messages',
    title: 'Messages, reasoning and calls of tools; what blocks noted between them is folded',
    none: 'Items show here when blocks emit messages, components, sources or errors.',
  },
  all: {
    label: 'All',
    title: 'Every item but those of abandoned attempts',
    none: 'Items show here when blocks emit messages, components, sources or errors.',
  },
  client: {
    label: 'Client',
    title: 'What the client of the flow is shown',
    none: 'Nothing was meant for the client.',
  },
  history: {
    label: 'History',
    title: 'What later model calls will read',
    none: 'No item becomes part of the conversation that models read.',
  },
  trace: {
    label: 'Trace',
    title: 'What only a developer may see',
    none: 'Every item is also visible to clients or models.',
  },
};

/** The names of folded items by type, singular and plural. */
const NOTES: Record<string, [one: string, more: string]> = {
  state_change: ['state change', 'state changes'],
  state_snapshot: ['state snapshot', 'state snapshots'],
  resource_change: ['resource change', 'resource changes'],
  block_output: ['block output', 'block outputs'],
  router_decision: ['router decision', 'router decisions'],
  status: ['status', 'statuses'],
};

/**
 * Whether an item is folded. Items of a failed block are not, but those of its parents, which repeat its error,
 * are.
 */
function isNote(item: Item, said: Map<string, string>): boolean {
  const { type, status, provenance } = item;
  if (!(type in NOTES)) return false;
  if (status !== 'failed') return true;
  const failure = failureOf(item);
  if (!failure) return false;
  if (said.get(failure)?.startsWith(`${provenance.path}/`)) return true;
  said.set(failure, provenance.path);
  return false;
}

export type Line = { is: 'item'; at: number; shown: ViewItem } | { is: 'notes'; id: string; at: number; words: string };

/**
 * Items as lines of a conversation. Consecutive notes are one line unless it is open. `at` is the index in the
 * list.
 */
export function linesOf(items: readonly ViewItem[], opened: ReadonlySet<string>): Line[] {
  const lines: Line[] = [];
  const said = new Map<string, string>();
  const notes = items.map(({ item }) => isNote(item, said));
  let at = 0;
  while (at < items.length) {
    const end = notes.indexOf(false, at);
    const run = items.slice(at, end < 0 ? items.length : end);
    const [first] = run;
    if (first && !opened.has(first.item.id)) lines.push({ is: 'notes', id: first.item.id, at, words: countsOf(run) });
    else for (const [n, shown] of run.entries()) lines.push({ is: 'item', at: at + n, shown });
    at += run.length;
    const shown = items[at];
    if (shown) lines.push({ is: 'item', at: at++, shown });
  }
  return lines;
}

/** `3 state changes, 2 block outputs`. */
function countsOf(run: readonly ViewItem[]): string {
  const counts = new Map<string, number>();
  for (const { item } of run) counts.set(item.type, (counts.get(item.type) ?? 0) + 1);
  return [...counts].map(([type, count]) => plural(count, ...(NOTES[type] ?? [type, type]))).join(', ');
}
