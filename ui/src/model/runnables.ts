// The runnable parts of a flow: its actions, and its entries, which events, schedules or dispatchers start. Pure.
import type { ActionRow, EntryRow, FlowRow } from '../host/host';

/** An action, or an entry by its address. */
export type Runnable = ActionRow & { entry?: EntryRow };

/** In the author's order, entries last. */
export const runnables = (flow: FlowRow): Runnable[] => [
  ...flow.actions,
  ...(flow.entries ?? []).map((entry) => ({ ...entry, name: entry.address, entry })),
];

/** Whether its input comes from an event: such an entry is fired, all others are run. */
export const isFired = ({ entry }: Runnable): boolean =>
  entry !== undefined && entry.type !== 'internal' && entry.type !== 'task';

const WORDS: Record<EntryRow['type'], string> = {
  internal: 'Started by a dispatcher.',
  task: 'Started by the dispatcher of a task board.',
  webhook: 'Triggered by a webhook of a provider.',
  chat: 'Triggered by an event of a bot.',
  schedule: 'Triggered on a schedule.',
};

/** Describes what starts it, and when. */
export function starterOf({ entry }: Runnable): string {
  if (!entry) return '';
  if (!entry.cron) return WORDS[entry.type];
  const off = entry.enabled === false ? ', switched off' : '';
  return `${WORDS[entry.type]} ${entry.cron} (${entry.timezone ?? 'UTC'}${off})`;
}
