// The time of day for what says how long ago something was: whoever reads it is told when it moved on.
// It ticks only while somebody reads it, and rarely, because ages count minutes.
import { createSubscriber } from 'svelte/reactivity';

export const TICK_MS = 15_000;

const subscribe = createSubscriber((update) => {
  const timer = setInterval(update, TICK_MS);
  // A window that was hidden, or a machine that slept, is behind by more than one tick.
  document.addEventListener('visibilitychange', update);
  return () => {
    clearInterval(timer);
    document.removeEventListener('visibilitychange', update);
  };
});

export function now(): number {
  subscribe();
  return Date.now();
}
