// The ticks and Calls of the open request, with what is directly around and inside of them, read while their tab is open.
import { asFault, type BlockRow, type Fault } from '../host/host';
import type { OpenRequest } from './request.svelte';

const NEVER_BEFORE_MS = 100;

export class CallBlocks {
  blocks: BlockRow[] = $state.raw([]);
  fault: Fault | null = $state.raw(null);
  isRead = $state(false);
  readonly byId = $derived(new Map(this.blocks.map((block) => [block.instanceId, block])));

  readonly #places = new Map<string, number>();
  #request: string | null = null;
  #seq = 0;
  #wanted = 0;
  #isBusy = false;
  #wasLive = false;

  constructor(
    readonly open: OpenRequest,
    readonly onread: () => void,
  ) {}

  clear(): void {
    this.#request = null;
    this.#seq = this.#wanted = 0;
    this.#places.clear();
    this.blocks = [];
    this.fault = null;
    this.isRead = this.#wasLive = false;
  }

  /** Reads what is new up to an event. The end of a run may change blocks that no event names: all is read then. */
  read(request: string, seq: number, isLive: boolean): void {
    if (request !== this.#request) this.clear();
    this.#request = request;
    if (this.#wasLive && !isLive) this.#seq = 0;
    this.#wasLive = isLive;
    this.#wanted = seq;
    if (!this.#isBusy && this.#seq < seq) void this.#work(request);
  }

  async #work(request: string) {
    this.#isBusy = true;
    while (request === this.#request && this.#seq < this.#wanted) {
      const after = this.#seq;
      try {
        const answer = await this.open.calls(after);
        if (!answer || request !== this.#request) break;
        this.#merge(answer.blocks, after === 0);
        this.#seq = Math.max(answer.seq, this.#wanted);
        this.fault = null;
        this.isRead = true;
        this.onread();
      } catch (thrown) {
        if (request === this.#request) this.fault = asFault(thrown);
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, NEVER_BEFORE_MS));
    }
    this.#isBusy = false;
    if (this.#request && request !== this.#request && this.#seq < this.#wanted) void this.#work(this.#request);
  }

  /** Blocks arrive in start order, so a known one keeps its place and a new one goes to the end. */
  #merge(fresh: BlockRow[], whole: boolean) {
    if (fresh.length === 0 && !whole) return;
    if (whole) this.#places.clear();
    const blocks = whole ? [] : this.blocks.slice();
    for (const block of fresh) {
      const at = this.#places.get(block.instanceId);
      if (at !== undefined) blocks[at] = block;
      else this.#places.set(block.instanceId, blocks.push(block) - 1);
    }
    this.blocks = blocks;
  }
}
