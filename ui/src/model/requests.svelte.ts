// The requests of a session, newest first: one list that grows page by page at its end and is kept current at its front.
// A page is never read for more than it holds, so that a long session costs no more than a short one.
import { asFault, type Fault, type Host, type ListedRequest } from '../host/host';

export const REQUEST_PAGE = 200;
const NEVER_BEFORE_MS = 300;

export class SessionRequests {
  session: string | null = $state.raw(null);
  rows: ListedRequest[] | null = $state.raw(null);
  hasMore = $state(false);
  busy = $state(false);
  fault: Fault | null = $state.raw(null);
  #round = 0;
  /** What changed while a page was under way: requests by their ids. */
  readonly #changed = new Set<string>();
  #stale = false;
  #wantsMore = false;

  constructor(readonly host: Host) {}

  open(session: string | null): void {
    if (session === this.session) return;
    this.#round++;
    this.session = session;
    this.rows = this.fault = null;
    this.hasMore = this.busy = this.#stale = this.#wantsMore = false;
    this.#changed.clear();
    if (session) void this.#work(() => this.#front());
  }

  /** Something of the session is new. Without an id only the front is read, where new requests appear. */
  refresh(request?: string): void {
    if (!this.session) return;
    this.#stale = true;
    if (request) this.#changed.add(request);
    if (!this.busy) void this.#work();
  }

  /** The next page; while another is under way, after it. */
  more(): void {
    if (!this.hasMore) return;
    this.#wantsMore = true;
    if (!this.busy) void this.#work();
  }

  async #work(first?: () => Promise<void>) {
    const round = this.#round;
    this.busy = true;
    try {
      await first?.();
      while ((this.#stale || this.#wantsMore) && round === this.#round) {
        if (this.#wantsMore) {
          this.#wantsMore = false;
          await this.#next();
          continue;
        }
        this.#stale = false;
        const changed = [...this.#changed];
        this.#changed.clear();
        await this.#front();
        for (const id of changed) await this.#again(id);
        // A fast run changes its row many times a second, and nobody reads so fast.
        await new Promise((resolve) => setTimeout(resolve, NEVER_BEFORE_MS));
      }
    } catch (thrown) {
      if (round === this.#round) this.fault = asFault(thrown);
    } finally {
      if (round === this.#round) this.busy = false;
    }
  }

  /** The newest page. What it no longer holds moved down and stays, unless nothing of the old list is in it any more. */
  async #front() {
    const fresh = await this.#read(0);
    if (!fresh) return;
    const known = this.rows ?? [];
    const ids = new Set(fresh.map((row) => row.id));
    const rest = known.filter((row) => !ids.has(row.id));
    const overlaps = rest.length < known.length;
    const isLonger = overlaps && fresh.length === REQUEST_PAGE && known.length >= REQUEST_PAGE;
    this.rows = isLonger ? [...fresh, ...rest] : fresh;
    if (!isLonger) this.hasMore = fresh.length === REQUEST_PAGE;
  }

  /** What began meanwhile pushed the older ones down, so that a page may begin with some that are known. */
  async #next() {
    const known = this.rows ?? [];
    const fresh = await this.#read(known.length);
    if (!fresh) return;
    const ids = new Set(known.map((row) => row.id));
    this.rows = [...known, ...fresh.filter((row) => !ids.has(row.id))];
    this.hasMore = fresh.length === REQUEST_PAGE;
  }

  /** A request further down changed: the page around it is read again, in place. */
  async #again(id: string) {
    const at = this.rows?.findIndex((row) => row.id === id) ?? -1;
    if (at < REQUEST_PAGE) return;
    const fresh = await this.#read(Math.max(0, at - REQUEST_PAGE / 2));
    const byId = new Map(fresh?.map((row) => [row.id, row]));
    this.rows = (this.rows ?? []).map((row) => byId.get(row.id) ?? row);
  }

  async #read(offset: number): Promise<ListedRequest[] | null> {
    const { session } = this;
    const round = this.#round;
    const rows = await this.host.requests({ session, limit: REQUEST_PAGE, offset });
    if (round !== this.#round) return null;
    this.fault = null;
    return rows;
  }
}
