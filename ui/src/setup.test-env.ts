import { configure } from '@testing-library/svelte';
import { vi } from 'vitest';

// What jsdom lacks and the window needs: layout never happens there, so observers exist but stay silent.
class SilentObserver {
  observe() {}
  unobserve() {}
  disconnect() {}
}
globalThis.ResizeObserver ??= SilentObserver as unknown as typeof ResizeObserver;
Element.prototype.scrollIntoView ??= () => {};
globalThis.CSS ??= { escape: (text: string) => text } as typeof CSS;
// As wide as the desktop window begins.
globalThis.innerWidth = 1440;
globalThis.matchMedia ??= (query: string) =>
  ({ matches: false, media: query, addEventListener() {}, removeEventListener() {} }) as unknown as MediaQueryList;

// A busy machine makes a test slower and never wrong: every wait lasts almost as long as a test may take.
const LONGEST_WAIT_MS = 20_000;
configure({ asyncUtilTimeout: LONGEST_WAIT_MS });
const { waitFor } = vi;
vi.waitFor = (act, options = LONGEST_WAIT_MS) => waitFor(act, options);
