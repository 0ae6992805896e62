// The sessions of the workspace as one list that grows page by page at its end and is kept current at its front, so that
// ten thousand of them cost no more than a screenful. What is narrowed or ordered anew begins at the front again.
import { asFault, type Fault, type Host, type ListedSession, type RequestStatus, type SessionSort } from '../host/host';

export const SESSION_PAGE = 100;
const NEVER_BEFORE_MS = 400;
const DAY_MS = 86_400_000;

export type SessionFilter = {
  search: string;
  status: RequestStatus | '';
  flow: string;
  user: string;
  project: string;
  /** How many days back; 0 is all of the time. */
  days: number;
  sort: SessionSort;
};

export const NO_FILTER: SessionFilter = {
  search: '',
  status: '',
  flow: '',
  user: '',
  project: '',
  days: 0,
  sort: 'changed',
};

export class SessionPages {
  answer: ListedSession[] | null = $state.raw(null);
  fault: Fault | null = $state.raw(null);
  busy = $state(false);
  hasMore = $state(false);
  filter: SessionFilter = $state.raw(NO_FILTER);
  #round = 0;
  #isStale = false;
  #wantsMore = false;

  constructor(readonly host: Host) {}

  /** How many of the filters besides the search are set. */
  get narrowed(): number {
    const { status, flow, user, project, days } = this.filter;
    return [status, flow, user, project, days].filter(Boolean).length;
  }

  clear(): void {
    this.#round++;
    this.filter = NO_FILTER;
    this.answer = this.fault = null;
    this.busy = this.hasMore = this.#isStale = this.#wantsMore = false;
  }

  /** Something is new: the front is read again, where changes appear. */
  reload(): void {
    this.#isStale = true;
    if (!this.busy) void this.#work();
  }

  find(change: Partial<SessionFilter>): void {
    this.filter = { ...this.filter, ...change };
    this.#round++;
    this.busy = this.#wantsMore = false;
    this.#isStale = true;
    void this.#work(true);
  }

  more(): void {
    if (!this.hasMore || this.#wantsMore) return;
    this.#wantsMore = true;
    if (!this.busy) void this.#work();
  }

  async #work(isAnew = false) {
    const round = this.#round;
    this.busy = true;
    try {
      while ((this.#isStale || this.#wantsMore) && round === this.#round) {
        if (this.#wantsMore && this.answer) {
          await this.#next(round);
          this.#wantsMore = false;
          continue;
        }
        this.#isStale = false;
        await this.#front(round, isAnew);
        isAnew = false;
        // A fast run changes its session many times a second, and nobody reads so fast.
        if (round === this.#round) await new Promise((resolve) => setTimeout(resolve, NEVER_BEFORE_MS));
      }
    } catch (thrown) {
      if (round === this.#round) this.fault = asFault(thrown);
    } finally {
      if (round === this.#round) this.busy = this.#wantsMore = false;
    }
  }

  /** The first page. What was below it stays below it, unless the two no longer meet. */
  async #front(round: number, isAnew: boolean) {
    const fresh = await this.#read(0);
    if (round !== this.#round) return;
    const known = isAnew ? [] : (this.answer ?? []);
    const last = fresh[fresh.length - 1];
    const meets = fresh.length === SESSION_PAGE ? known.findIndex((one) => one.id === last?.id) : -1;
    const ids = new Set(fresh.map((one) => one.id));
    const rest = meets < 0 ? [] : known.slice(meets + 1).filter((one) => !ids.has(one.id));
    if (meets < 0 || rest.length === 0) this.hasMore = fresh.length === SESSION_PAGE;
    this.answer = [...fresh, ...rest];
    this.fault = null;
  }

  /** What changed meanwhile moved to the front, so that a page may begin with some that are known. */
  async #next(round: number) {
    const known = this.answer ?? [];
    const fresh = await this.#read(known.length);
    if (round !== this.#round) return;
    const ids = new Set(known.map((one) => one.id));
    this.answer = [...known, ...fresh.filter((one) => !ids.has(one.id))];
    this.hasMore = fresh.length === SESSION_PAGE;
  }

  #read(offset: number): Promise<ListedSession[]> {
    const { search, status, flow, user, project, days, sort } = this.filter;
    return this.host.sessions({
      search: search || null,
      status: status || null,
      flow: flow || null,
      user: user || null,
      project: project || null,
      since: days > 0 ? Date.now() - days * DAY_MS : null,
      sort,
      limit: SESSION_PAGE,
      offset,
    });
  }
}
