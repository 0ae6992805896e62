// The raw events of a request, read a page at a time as they come into view. A request may have millions, so only the
// pages that were looked at last are kept, and a large value stays in the database until somebody opens it.
import { asFault, type EventParts, type Fault, type Host } from '../host/host';

const PAGE = 200;
const MOST_PAGES = 24;

export class EventPages {
  fault: Fault | null = $state.raw(null);
  #version = $state.raw(0);
  readonly #pages = new Map<number, EventParts[]>();
  #request: string | null = null;
  #isBusy = false;
  /** The event that was read alone last. */
  #alone = 0;
  /** What is on screen, and one event that is shown beside it. */
  #want = { first: 1, last: 0, also: 0 };

  constructor(readonly host: Host) {}

  open(request: string | null): void {
    if (request === this.#request) return;
    this.#request = request;
    this.#pages.clear();
    this.#want = { first: 1, last: 0, also: 0 };
    this.#version++;
    this.fault = null;
  }

  /** The event with this seq, if its page has been read. */
  at(seq: number): EventParts | undefined {
    void this.#version;
    return this.#pages.get(Math.floor((seq - 1) / PAGE))?.[(seq - 1) % PAGE];
  }

  /** The newest event that was read. */
  get newest(): number {
    void this.#version;
    return Math.max(0, ...[...this.#pages.values()].map((rows) => rows.at(-1)?.seq ?? 0));
  }

  /** How many pages are held. */
  get held(): number {
    return this.#pages.size;
  }

  /** Reads what is missing between two seqs and at a third. A page that was not full yet is read again when it grew. */
  show(first: number, last: number, also = 0): void {
    this.#want = { first, last, also };
    if (!this.#isBusy) void this.#work();
  }

  /** One page at a time, and always of what is wanted now: a fast scroll asks for nothing that it has left. */
  async #work() {
    this.#isBusy = true;
    for (let page = this.#missing(); page !== null; page = this.#missing()) {
      const request = this.#request;
      if (!request) break;
      try {
        const rows = await this.host.eventParts(request, page * PAGE + 1, PAGE);
        if (request !== this.#request) continue;
        this.#keep(page, rows);
        this.fault = null;
        if (rows.length < this.#expected(page)) break;
      } catch (thrown) {
        if (request !== this.#request) continue;
        this.fault = asFault(thrown);
        break;
      }
    }
    const want = this.#want;
    await this.#readAlone().catch((thrown) => (this.fault = asFault(thrown)));
    this.#isBusy = false;
    // What was scrolled to meanwhile found it busy.
    if (want !== this.#want) void this.#work();
  }

  /** A page leaves out small values, too, where it has many: the event that is shown beside the list is read alone. */
  async #readAlone() {
    const [request, { also }] = [this.#request, this.#want];
    const [page, at] = [Math.floor((also - 1) / PAGE), (also - 1) % PAGE];
    if (!request || this.#alone === also || !this.#pages.get(page)?.[at]?.payload.large) return;
    this.#alone = also;
    const [one] = await this.host.eventParts(request, also, 1);
    const rows = this.#pages.get(page);
    if (!one || !rows?.[at] || request !== this.#request) return;
    rows[at] = one;
    this.#version++;
  }

  #keep(page: number, rows: EventParts[]) {
    this.#pages.delete(page);
    this.#pages.set(page, rows);
    this.#alone = 0;
    for (const old of this.#pages.keys()) {
      if (this.#pages.size <= MOST_PAGES) break;
      if (!this.#wanted().includes(old)) this.#pages.delete(old);
    }
    this.#version++;
  }

  #wanted(): number[] {
    const { first, last, also } = this.#want;
    const pages: number[] = [];
    for (let page = Math.floor((first - 1) / PAGE); page <= Math.floor((last - 1) / PAGE); page++) pages.push(page);
    if (also > 0) pages.push(Math.floor((also - 1) / PAGE));
    return pages.filter((page) => page >= 0);
  }

  /** How many events a page must have by what is wanted of it. */
  #expected(page: number): number {
    const { last, also } = this.#want;
    const most = Math.max(...[last, also].map((seq) => (Math.floor((seq - 1) / PAGE) >= page ? seq : 0)));
    return Math.min(PAGE, Math.max(1, most - page * PAGE));
  }

  #missing(): number | null {
    return this.#wanted().find((page) => (this.#pages.get(page)?.length ?? 0) < this.#expected(page)) ?? null;
  }
}
