// The signals that steps and races give to what they run, by the paths of their blocks (SEMANTICS §3.3). One
// runtime runs one request, so a path names one block.

import { requestSignal, Signal } from './web';

/** The last segment of the path of a branch of a race. */
const BRANCH = /^race(~\d+)?\[\d+\]$/;

const signals = new Map<string, Signal>();
/** Removes the listener of a branch's signal on the signal around it. */
const releases = new Map<string, () => void>();
/** The branches that have lost, and the reason of their signals. */
const lost = new Map<string, Error>();
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
      const reason = lost.get(at);
      return reason ? Signal.abort(reason) : signalOfBranch(at, around === undefined ? requestSignal : find(around));
    }
    if (around === undefined) return requestSignal;
    at = around;
  }
}

function signalOfBranch(path: string, around: Signal): Signal {
  if (around.aborted) return around;
  const signal = new Signal();
  const fire = (): void => Signal.stop(signal, around.reason);
  around.addEventListener('abort', fire);
  signals.set(path, signal);
  releases.set(path, () => around.removeEventListener('abort', fire));
  return signal;
}

/**
 * Called by Rust when the branches of a race run again in another attempt of their chain. Work of the earlier attempt
 * may still run under the signals of that attempt, so those are not released.
 */
export function beginRace(branches: string[]): void {
  for (const branch of branches) {
    signals.delete(branch);
    releases.delete(branch);
    lost.delete(branch);
  }
}

/**
 * Called by Rust when another branch has won. Fires the signals of these branches; it does not stop them. That of the
 * winner stays, because work that the branch started may run until the request ends.
 */
export function stopLosers(branches: string[]): void {
  const error = new Error('Another branch of the race has succeeded');
  error.name = 'AbortError';
  for (const branch of branches) {
    lost.set(branch, error);
    const signal = signals.get(branch);
    if (!signal) continue;
    releases.get(branch)?.();
    releases.delete(branch);
    signals.delete(branch);
    Signal.stop(signal, error);
  }
}
