// Where lists were scrolled to, so that one that is shown again begins there, also after a restart.
import { recall, remember } from './remember';

const MOST = 200;
const KEY = 'scrolled';
/** Whoever scrolls does so many times a second. */
const WRITTEN_AFTER_MS = 300;

const tops = new Map(read());
/** Lists whose place is not written yet. */
const changed = new Set<string>();
let timer: ReturnType<typeof setTimeout> | undefined;

function read(): [string, number][] {
  const found = recall<unknown>(KEY, []);
  if (!Array.isArray(found)) return [];
  const isTop = (one: unknown): one is [string, number] =>
    Array.isArray(one) && typeof one[0] === 'string' && typeof one[1] === 'number' && one[1] > 0;
  return found.filter(isTop).slice(-MOST);
}

/** The top that a list had when it was left; 0 if it was never shown. */
export const topWhenLeft = (list: string): number => tops.get(list) ?? 0;

export function keepTop(list: string, top: number): void {
  if (top === topWhenLeft(list)) return;
  // The newest is the last one.
  tops.delete(list);
  if (top > 0) tops.set(list, top);
  const [oldest] = tops.keys();
  if (tops.size > MOST && oldest !== undefined) tops.delete(oldest);
  changed.add(list);
  timer ??= setTimeout(write, WRITTEN_AFTER_MS);
}

/** Other windows write as well, so only what changed here takes the place of what is kept. */
function write(): void {
  timer = undefined;
  const kept = new Map(read());
  for (const list of changed) {
    kept.delete(list);
    const top = topWhenLeft(list);
    if (top > 0) kept.set(list, top);
  }
  changed.clear();
  remember(KEY, [...kept].slice(-MOST));
}
