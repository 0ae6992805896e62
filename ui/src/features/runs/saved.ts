// Filters of the list of runs that a person named, with their order. Kept for each folder. Pure, but for the memory.
import { recall, remember } from '../../base/remember';
import type { RunsPlace } from '../../place';

export type SavedFilter = RunsPlace & { name: string };

const MAX_SAVED = 50;
const MAX_NAME_CHARS = 80;

const keyOf = (dataFile: string) => `runs.saved.${dataFile}`;

function isSaved(one: unknown): one is SavedFilter {
  const { name, runs, sort, descending } = (one ?? {}) as Partial<SavedFilter>;
  return [name, runs, sort].every((text) => typeof text === 'string') && typeof descending === 'boolean';
}

export function savedFilters(dataFile: string): SavedFilter[] {
  const found = recall<unknown>(keyOf(dataFile), []);
  return Array.isArray(found) ? found.filter(isSaved).slice(0, MAX_SAVED) : [];
}

/** With another filter of this name, which takes the place of one that had it; by name. */
export function withFilter(saved: readonly SavedFilter[], name: string, place: RunsPlace): SavedFilter[] {
  const short = name.trim().slice(0, MAX_NAME_CHARS);
  if (short === '') return [...saved];
  const { runs, sort, descending } = place;
  const others = saved.filter((one) => one.name !== short);
  return [...others, { name: short, runs, sort, descending }]
    .sort((a, b) => a.name.localeCompare(b.name))
    .slice(0, MAX_SAVED);
}

export const keepFilters = (dataFile: string, saved: readonly SavedFilter[]): void => remember(keyOf(dataFile), saved);

/** What a filter that has no name yet is called at first. */
export const nameOf = ({ runs, sort, descending }: RunsPlace): string =>
  runs || `by ${sort}, ${descending ? 'largest first' : 'smallest first'}`;
