// The signals that steps and races give to what they run, by the paths of their blocks (SEMANTICS §3.3, §3.7). One
// runtime runs one request, so a path names one block.

import { describeThrown } from '../base/inspect';
import { requestSignal, Signal } from './web';

declare const console: { warn(text: string): void };

/** The last segment of the path of a branch of a race. */
const BRANCH = /^race(~\d+)?\[\d+\]$/;

const signals = new Map<string, Signal>();
let hasRaces = false;

/** Called when a race is defined: its branches have signals of their own. */
export function expectRace(): void {
  hasRaces = true;
}

/** What runs at a path, and below it, has this signal from now on; without one, that of what is around it. */
export function runUnder(path: string, signal: Signal | undefined): void {
  if (signal) signals.set(path, signal);
  else signals.delete(path);
}

/** The signal of what runs at a path. Most requests have one signal, and then no path is asked for. */
export function signalAt(path: () => string): Signal {
  return signals.size === 0 && !hasRaces ? requestSignal : find(path());
}

function find(path: string): Signal {
  let at = path;
  for (;;) {
    const found = signals.get(at);
    if (found) return found;
    const end = at.lastIndexOf('/');
    const around = end < 0 ? undefined : at.slice(0, end);
    if (BRANCH.test(at.slice(end + 1))) {
      const signal = Signal.any([around === undefined ? requestSignal : find(around)]);
      signals.set(at, signal);
      return signal;
    }
    if (around === undefined) return requestSignal;
    at = around;
  }
}

/** Called by Rust when the branches of a race run again in another attempt of their chain. */
export function beginRace(branches: string[]): void {
  const isInside = (path: string) => branches.some((branch) => path === branch || path.startsWith(`${branch}/`));
  for (const path of [...signals.keys()]) if (isInside(path)) signals.delete(path);
}

/** Called by Rust when another branch has won. Fires the signals of these branches; it does not stop them. */
export function stopLosers(branches: string[]): void {
  const error = new Error('Another branch of the race has succeeded');
  error.name = 'AbortError';
  for (const branch of branches) {
    try {
      Signal.stopAsListeners(find(branch), error);
    } catch (thrown) {
      console.warn(`the signal of ${branch} could not be fired: ${describeThrown(thrown)}`);
    }
  }
}
