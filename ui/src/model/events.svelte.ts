// The raw events of a request, read a page at a time as they come into view. A request may have a million.
import { asFault, type EventRow, type Fault, type Host } from '../host/host';

const PAGE = 200;

export class EventPages {
  fault: Fault | null = $state.raw(null);
  #pages: ReadonlyMap<number, EventRow[]> = $state.raw(new Map());
  #request: string | null = null;
  readonly #asked = new Set<number>();

  constructor(readonly host: Host) {}

  open(request: string | null): void {
    if (request === this.#request) return;
    this.#request = request;
    this.#pages = new Map();
    this.#asked.clear();
    this.fault = null;
  }

  /** The event with this seq, if its page has been read. */
  at(seq: number): EventRow | undefined {
    return this.#pages.get(Math.floor((seq - 1) / PAGE))?.[(seq - 1) % PAGE];
  }

  /** Reads what is missing between two seqs. A page that was not full yet is read again when it grew. */
  show(first: number, last: number): void {
    for (let page = Math.floor((first - 1) / PAGE); page <= Math.floor((last - 1) / PAGE); page++) {
      const wanted = Math.min(PAGE, last - page * PAGE);
      if (page >= 0 && !this.#asked.has(page) && (this.#pages.get(page)?.length ?? 0) < wanted) void this.#read(page);
    }
  }

  async #read(page: number) {
    const request = this.#request;
    if (!request) return;
    this.#asked.add(page);
    try {
      const rows = await this.host.events(request, page * PAGE + 1, PAGE);
      if (request !== this.#request) return;
      this.#pages = new Map(this.#pages).set(page, rows);
      this.fault = null;
    } catch (thrown) {
      if (request === this.#request) this.fault = asFault(thrown);
    } finally {
      if (request === this.#request) this.#asked.delete(page);
    }
  }
}
