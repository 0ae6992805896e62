// The open request: its row and its blocks, merged from timeline answers while it runs.
// It asks for structure only; payloads, state and items belong to whoever shows them.
import { asFault, type BlockRow, type Fault, type Host, type RequestRow } from '../host/host';
import { isOver } from './status';

// A run whose process died sends no notice, so a running request is also looked at now and then.
const LOOK_EVERY_MS = 2000;
const NEVER_BEFORE_MS = 60;
const SPEAK_EVERY_MS = 3000;
const TICK_MS = 100;

export class OpenRequest {
  id: string | null = $state.raw(null);
  row: RequestRow | null = $state.raw(null);
  blocks: BlockRow[] = $state.raw([]);
  /** The newest event that is included in what is shown. */
  seq = $state(0);
  fault: Fault | null = $state.raw(null);
  loading = $state(false);
  /** The clock while the request runs, so that running bars grow. */
  now = $state(Date.now());
  /** What a screen reader is told about progress, rarely enough to be listened to. */
  spoken = $state('');

  readonly live = $derived(this.row !== null && !isOver(this.row.status));
  readonly root = $derived(this.blocks.find((block) => !block.parent) ?? null);
  readonly byId = $derived(new Map(this.blocks.map((block) => [block.instanceId, block])));
  /** The instant before the first block: what every scope was when the request began. */
  readonly start = $derived(this.root ? this.root.seqStart - 1 : 0);
  /** The seqs at which a block finished: the steps that a difference is measured between. */
  readonly boundaries = $derived(this.blocks.flatMap((block) => block.seqEnd ?? []).sort((a, b) => a - b));
  readonly errors = $derived(
    this.blocks
      .flatMap((block) => (block.status === 'failed' && block.seqEnd ? [block.seqEnd] : []))
      .sort((a, b) => a - b),
  );

  readonly #places = new Map<string, number>();
  #round = 0;
  #busy = false;
  #again = false;
  #lookTimer: ReturnType<typeof setInterval> | undefined;
  #tickTimer: ReturnType<typeof setInterval> | undefined;
  #spokenAt = 0;

  constructor(
    readonly host: Host,
    readonly onadvance: () => void,
  ) {}

  open(id: string | null): void {
    if (id === this.id) return;
    this.#round++;
    this.id = id;
    this.row = this.fault = null;
    this.blocks = [];
    this.seq = 0;
    this.spoken = '';
    this.#busy = this.#again = false;
    this.#places.clear();
    this.#clocks(false);
    if (id) void this.#read(id, 0);
  }

  refresh(): void {
    if (!this.id) return;
    if (this.#busy) this.#again = true;
    else void this.#read(this.id, this.seq);
  }

  /** Everything anew, after a failure or when the end of a run may have changed blocks that no event names. */
  reload(): void {
    if (this.id && !this.#busy) void this.#read(this.id, 0);
  }

  /** The seq of the step before an instant: where its difference starts. */
  stepBefore(seq: number): number {
    return this.boundaries.findLast((end) => end < seq) ?? (this.start < seq ? this.start : 0);
  }

  async #read(id: string, after: number) {
    const round = this.#round;
    this.#busy = true;
    this.loading = this.row === null;
    try {
      const answer = await this.host.timeline(id, after);
      if (round !== this.#round) return;
      const ended = this.live && isOver(answer.request.status);
      this.#merge(answer.blocks, after === 0);
      this.row = answer.request;
      this.seq = Math.max(this.seq, answer.seq);
      this.fault = null;
      this.#speak();
      this.#clocks(this.live);
      this.onadvance();
      if (ended && after > 0) this.#again = true;
      await new Promise((resolve) => setTimeout(resolve, NEVER_BEFORE_MS));
      if (round !== this.#round) return;
      this.#busy = false;
      if (this.#again) {
        this.#again = false;
        void this.#read(id, ended ? 0 : this.seq);
      }
    } catch (thrown) {
      if (round !== this.#round) return;
      this.#busy = false;
      this.fault = asFault(thrown);
    } finally {
      if (round === this.#round) this.loading = false;
    }
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

  #speak() {
    const over = !this.live;
    if (!over && Date.now() - this.#spokenAt < SPEAK_EVERY_MS) return;
    this.#spokenAt = Date.now();
    const failed = this.errors.length > 0 ? `, ${this.errors.length} failed` : '';
    this.spoken = `${this.boundaries.length} of ${this.blocks.length} blocks finished${failed}. Request ${this.row?.status.replace('_', ' ')}.`;
  }

  #clocks(running: boolean) {
    this.now = Date.now();
    if (running === (this.#tickTimer !== undefined)) return;
    clearInterval(this.#tickTimer);
    clearInterval(this.#lookTimer);
    this.#tickTimer = running ? setInterval(() => (this.now = Date.now()), TICK_MS) : undefined;
    this.#lookTimer = running ? setInterval(() => this.refresh(), LOOK_EVERY_MS) : undefined;
  }
}
