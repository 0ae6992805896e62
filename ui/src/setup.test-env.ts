// What jsdom lacks and the window needs: layout never happens there, so observers exist but stay silent.
class SilentObserver {
  observe() {}
  unobserve() {}
  disconnect() {}
}
globalThis.ResizeObserver ??= SilentObserver as unknown as typeof ResizeObserver;
Element.prototype.scrollIntoView ??= () => {};
globalThis.matchMedia ??= (query: string) =>
  ({ matches: false, media: query, addEventListener() {}, removeEventListener() {} }) as unknown as MediaQueryList;
