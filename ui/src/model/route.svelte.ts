// Where the window is, kept equal to the address. Back and forward arrive here, and everything that shows
// something listens here; nobody else touches the history.
import { formatRoute, HOME, parseRoute, placeOf, VIEW, type Place, type Route, type View } from '../place';

type Browser = Pick<Window, 'location' | 'history' | 'addEventListener' | 'removeEventListener'>;
type How = 'push' | 'replace';

// WebKit refuses more than a hundred address changes in ten seconds, and a slider makes that many in one.
const WRITE_AFTER_MS = 250;

export class Router {
  current: Route = $state.raw(HOME);
  readonly place: Place = $derived(placeOf(this.current));
  readonly #listeners = new Set<(place: Place, before: Place) => void>();
  #later: ReturnType<typeof setTimeout> | undefined;
  /** What stays chosen from one request to the next. */
  #kept: Pick<View, 'tab' | 'audience'> = VIEW;

  constructor(readonly browser: Browser) {
    this.current = parseRoute(browser.location.hash);
    this.#keep();
    browser.addEventListener('popstate', this.#arrived);
  }

  onchange(listener: (place: Place, before: Place) => void): void {
    this.#listeners.add(listener);
  }

  /** `push` can be gone back from; `replace` is for what changes many times a second. */
  to(route: Route, how: How = 'push'): void {
    const before = this.current;
    const address = formatRoute(route);
    if (address === formatRoute(before)) return;
    if (how === 'push') {
      this.#write();
      this.browser.history.pushState(null, '', address);
    } else {
      clearTimeout(this.#later);
      this.#later = setTimeout(() => this.#write(), WRITE_AFTER_MS);
    }
    this.current = route;
    this.#tell(before);
  }

  /** Opens a request at its newest event, with the tab and the audience that were looked at last. */
  toRequest(request: string, session: string | null, how: How = 'push'): void {
    const { tab, audience } = this.#kept;
    this.to({ at: 'request', request, session, ...VIEW, tab, audience }, how);
  }

  /** Looks at the open request in another way; without one there is nothing to look at. */
  go(view: Partial<View>, how: How = 'push'): void {
    if (this.current.at === 'request') this.to({ ...this.current, ...view }, how);
  }

  stop(): void {
    clearTimeout(this.#later);
    this.browser.removeEventListener('popstate', this.#arrived);
  }

  #arrived = () => {
    clearTimeout(this.#later);
    this.#later = undefined;
    const before = this.current;
    this.current = parseRoute(this.browser.location.hash);
    this.#tell(before);
  };

  #write() {
    if (this.#later === undefined) return;
    clearTimeout(this.#later);
    this.#later = undefined;
    this.browser.history.replaceState(null, '', formatRoute(this.current));
  }

  #keep() {
    if (this.current.at === 'request') this.#kept = { tab: this.current.tab, audience: this.current.audience };
  }

  #tell(before: Route) {
    this.#keep();
    const [place, was] = [placeOf(this.current), placeOf(before)];
    for (const listener of this.#listeners) listener(place, was);
  }
}
