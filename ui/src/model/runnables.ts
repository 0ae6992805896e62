// What of a flow can be run: its actions, and its entries, each of which something else than a person starts.
// Pure; it neither asks nor draws.
import type { ActionRow, EntryRow, FlowRow } from '../host/host';

/** An action, or an entry by its address. */
export type Runnable = ActionRow & { entry?: EntryRow };

/** In the author's order, entries last. */
export const runnables = (flow: FlowRow): Runnable[] => [
  ...flow.actions,
  ...(flow.entries ?? []).map((entry) => ({ ...entry, name: entry.address, entry })),
];

/** Whether an event makes its input: such an entry is fired, any other is run. */
export const isFired = ({ entry }: Runnable): boolean =>
  entry !== undefined && entry.type !== 'internal' && entry.type !== 'task';

const WORDS: Record<EntryRow['type'], string> = {
  internal: 'A dispatcher starts it.',
  task: 'A dispatcher of a task board starts it.',
  webhook: 'An event of a provider fires it.',
  chat: 'An event of a bot fires it.',
  schedule: 'A clock fires it.',
};

/** What starts it, and when, in words. */
export function starterOf({ entry }: Runnable): string {
  if (!entry) return '';
  if (!entry.cron) return WORDS[entry.type];
  const off = entry.enabled === false ? ', switched off' : '';
  return `${WORDS[entry.type]} ${entry.cron} (${entry.timezone ?? 'UTC'}${off})`;
}
