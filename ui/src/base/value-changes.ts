// In what two values differ, place by place, for values that are small enough to be read whole. Pure.
import { isRecord } from './json';
import { formatPath, type Step } from './path';

export type ValueChange = { id: string; group: string; path: string; kind: string; old?: unknown; new?: unknown };

const MAX_ROWS = 200;

/** Lists are compared place by place: an entry that came in between makes those after it differ. */
export function valueChanges(group: string, old: unknown, now: unknown): ValueChange[] {
  const found: ValueChange[] = [];
  const add = (steps: Step[], kind: string, values: { old?: unknown; new?: unknown }) => {
    const path = formatPath(steps) || group;
    found.push({ id: `${group} ${path}`, group, path, kind, ...values });
  };
  const walk = (steps: Step[], old: unknown, now: unknown) => {
    if (found.length >= MAX_ROWS || Object.is(old, now)) return;
    if (old === undefined) return add(steps, 'added', { new: now });
    if (now === undefined) return add(steps, 'removed', { old });
    if (isRecord(old) && isRecord(now)) {
      for (const key of new Set([...Object.keys(old), ...Object.keys(now)])) walk([...steps, key], old[key], now[key]);
    } else if (Array.isArray(old) && Array.isArray(now)) {
      for (let at = 0; at < Math.max(old.length, now.length); at++) walk([...steps, at], old[at], now[at]);
    } else add(steps, 'changed', { old, new: now });
  };
  walk([], old, now);
  return found;
}
