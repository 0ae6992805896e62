// Where the window is, kept equal to the address. Back and forward arrive here, and everything that shows
// something listens here; nobody else touches the history.
//
// A page stays until the next one can be shown: a request, or the newest one of a session, is read first, and until then
// the window is where it was, with all that keys and buttons act on.
import { formatRoute, HOME, parseRoute, placeOf, VIEW, type Place, type Route, type View } from '../place';

type Browser = Pick<Window, 'location' | 'history' | 'addEventListener' | 'removeEventListener'>;
type How = 'push' | 'replace';
/** How a place is gone to that must be read first: `popped` is back and forward, where the address is changed already. */
type Way = How | 'popped';

// WebKit refuses more than a hundred address changes in ten seconds, and a slider makes that many in one.
const WRITE_AFTER_MS = 250;
/** After how long a person is shown that the next page is not there yet. */
const SLOW_AFTER_MS = 200;

export class Router {
  current: Route = $state.raw(HOME);
  readonly place: Place = $derived(placeOf(this.current));
  /** Where the window goes next, while that is read. */
  next: Route | null = $state.raw(null);
  /** Whether the next page takes so long that the one on screen is marked as busy. */
  isSlow = $state(false);
  /** Reads what a place shows, and answers where to arrive; null shows every place at once. */
  prepare: ((route: Route) => Promise<Route>) | null = null;
  #way: Way = 'push';
  #wait = 0;
  #slow: ReturnType<typeof setTimeout> | undefined;
  #arrival: Promise<void> = Promise.resolve();
  readonly #listeners = new Set<(place: Place, before: Place) => void>();
  #later: ReturnType<typeof setTimeout> | undefined;
  /** What stays chosen from one request to the next. */
  #kept: Pick<View, 'tab' | 'audience'> = VIEW;

  constructor(readonly browser: Browser) {
    this.current = parseRoute(browser.location.hash);
    this.#keep();
    browser.addEventListener('popstate', this.#popped);
  }

  onchange(listener: (place: Place, before: Place) => void): void {
    this.#listeners.add(listener);
  }

  /** `push` can be gone back from; `replace` is for what changes many times a second. */
  to(route: Route, how: How = 'push'): void {
    const address = formatRoute(route);
    if (this.next && address === formatRoute(this.next)) return;
    const wasPopped = this.next !== null && this.#way === 'popped';
    this.#stay();
    if (address === formatRoute(this.current)) {
      // The address is that of the page that was not waited for.
      if (wasPopped) this.browser.history.replaceState(null, '', address);
    } else if (this.#isReadFirst(route)) this.#go(route, how);
    else this.#arrive(route, how);
  }

  /** When the window is where it was going. */
  async settled(): Promise<void> {
    while (this.next !== null) await this.#arrival;
  }

  #isReadFirst(route: Route): boolean {
    if (this.prepare === null) return false;
    const { current } = this;
    const open = current.at === 'request' ? current.request : null;
    return route.at === 'session' || (route.at === 'request' && route.request !== open);
  }

  #go(route: Route, way: Way) {
    const wait = this.#wait;
    [this.next, this.#way] = [route, way];
    this.#slow = setTimeout(() => (this.isSlow = true), SLOW_AFTER_MS);
    const reading = this.prepare?.(route) ?? Promise.resolve(route);
    // A page that cannot be read says so itself.
    this.#arrival = reading
      .catch(() => route)
      .then((target) => {
        if (wait !== this.#wait) return;
        this.#stay();
        this.#arrive(target, way === 'popped' && target !== route ? 'replace' : way);
      });
  }

  /** Nothing is waited for any more. */
  #stay() {
    this.#wait++;
    clearTimeout(this.#slow);
    [this.next, this.isSlow] = [null, false];
  }

  #arrive(route: Route, way: Way) {
    const before = this.current;
    if (way === 'push') {
      this.#write();
      this.browser.history.pushState(null, '', formatRoute(route));
    } else if (way === 'replace') {
      clearTimeout(this.#later);
      this.#later = setTimeout(() => this.#write(), WRITE_AFTER_MS);
    }
    this.current = route;
    this.#tell(before);
  }

  /** The newest event of a request, with the tab and the audience that were looked at last. */
  requestRoute(request: string, session: string | null, view: Partial<View> = {}): Route {
    const { tab, audience } = this.#kept;
    return { at: 'request', request, session, ...VIEW, tab, audience, ...view };
  }

  toRequest(request: string, session: string | null, how: How = 'push', view: Partial<View> = {}): void {
    this.to(this.requestRoute(request, session, view), how);
  }

  /** Looks at the open request in another way; without one there is nothing to look at. What is gone to stays so. */
  go(view: Partial<View>, how: How = 'push'): void {
    if (this.current.at !== 'request') return;
    const route = { ...this.current, ...view };
    if (formatRoute(route) === formatRoute(this.current)) return;
    if (this.next === null || this.#way !== 'popped') return this.#arrive(route, how);
    // The address is that of the next page already.
    const before = this.current;
    this.current = route;
    this.#tell(before);
  }

  stop(): void {
    this.#stay();
    clearTimeout(this.#later);
    this.browser.removeEventListener('popstate', this.#popped);
  }

  #popped = () => {
    clearTimeout(this.#later);
    this.#later = undefined;
    this.#stay();
    const route = parseRoute(this.browser.location.hash);
    if (this.#isReadFirst(route)) this.#go(route, 'popped');
    else this.#arrive(route, 'popped');
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
