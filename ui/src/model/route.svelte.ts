// Where the window is, kept equal to the address. Back and forward arrive here, and everything that shows
// something listens here; nobody else touches the history.
import { formatPlace, NOWHERE, parsePlace, type Place } from '../place';

type Browser = Pick<Window, 'location' | 'history' | 'addEventListener' | 'removeEventListener'>;

// WebKit refuses more than a hundred address changes in ten seconds, and a slider makes that many in one.
const WRITE_AFTER_MS = 250;

export class Route {
  place: Place = $state.raw(NOWHERE);
  readonly #listeners = new Set<(place: Place, before: Place) => void>();
  #later: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly browser: Browser) {
    this.place = parsePlace(browser.location.hash);
    browser.addEventListener('popstate', this.#arrived);
  }

  onchange(listener: (place: Place, before: Place) => void): void {
    this.#listeners.add(listener);
  }

  /** `push` can be gone back from; `replace` is for what changes many times a second. */
  go(change: Partial<Place>, how: 'push' | 'replace' = 'push'): void {
    const before = this.place;
    const place = { ...before, ...change };
    const address = formatPlace(place);
    if (address === formatPlace(before)) return;
    if (how === 'push') {
      this.#write();
      this.browser.history.pushState(null, '', address);
    } else {
      clearTimeout(this.#later);
      this.#later = setTimeout(() => this.#write(), WRITE_AFTER_MS);
    }
    this.place = place;
    this.#tell(before);
  }

  stop(): void {
    clearTimeout(this.#later);
    this.browser.removeEventListener('popstate', this.#arrived);
  }

  #arrived = () => {
    clearTimeout(this.#later);
    this.#later = undefined;
    const before = this.place;
    this.place = parsePlace(this.browser.location.hash);
    this.#tell(before);
  };

  #write() {
    if (this.#later === undefined) return;
    clearTimeout(this.#later);
    this.#later = undefined;
    this.browser.history.replaceState(null, '', formatPlace(this.place));
  }

  #tell(before: Place) {
    for (const listener of this.#listeners) listener(this.place, before);
  }
}
