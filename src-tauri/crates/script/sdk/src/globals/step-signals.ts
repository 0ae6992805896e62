// The signals that steps give to what they run, by the paths of their blocks (SEMANTICS §3.7). One runtime runs one
// request, so a path names one block.

import { requestSignal, type Signal } from './web';

const signals = new Map<string, Signal>();

/** What runs at a path, and below it, has this signal from now on; without one, that of what is around it. */
export function runUnder(path: string, signal: Signal | undefined): void {
  if (signal) signals.set(path, signal);
  else signals.delete(path);
}

/** The signal of what runs at a path. Most requests have one signal, and then no path is asked for. */
export function signalAt(path: () => string): Signal {
  if (signals.size === 0) return requestSignal;
  let at = path();
  for (;;) {
    const found = signals.get(at);
    if (found) return found;
    const end = at.lastIndexOf('/');
    if (end < 0) return requestSignal;
    at = at.slice(0, end);
  }
}
