// A session as a conversation: a window of its turns for one audience, the newest ones while it follows. A session may
// have thousands of turns; the page holds no more than are shown, and what streams is read turn by turn.
import { asFault, type Conversation, type Fault, type ForkRow, type Host, type RunRow, type Turn } from '../host/host';
import type { Audience } from '../place';
import { readFor } from './item-notes';

/** How many turns are shown at once. */
export const TURNS = 20;
/** What streams is read so often at most. */
const PAUSE_MS = 120;

export class ConversationPages {
  answer: Conversation | null = $state.raw(null);
  forks: readonly ForkRow[] = $state.raw([]);
  fault: Fault | null = $state.raw(null);
  /** The first turn that is shown; null follows the newest. */
  first: number | null = $state.raw(null);
  audience: Audience = $state('messages');
  /** The request that is to be shown at first. */
  target: string | null = $state.raw(null);
  /** The newest requests, oldest first, as they were when the end was last read. */
  newest: readonly RunRow[] = $state.raw([]);
  /** Counts how often the end was asked for: it is scrolled to then, wherever the list is. */
  ends = $state(0);

  #isStale = false;
  #isBusy = false;
  #round = 0;
  /** Turns that changed, by their requests; all of them where nobody knows which. */
  #changed: Set<string> | null = null;

  constructor(
    readonly host: Host,
    readonly session: string,
  ) {}

  get total(): number {
    return this.answer?.total ?? 0;
  }

  /** Shows what an audience saw, from a request on if one is named. */
  async show(audience: Audience, from: string | null): Promise<void> {
    this.audience = audience;
    if (from !== null && from !== this.target) {
      this.target = from;
      const at = await this.host.turnOf(this.session, from).catch(() => null);
      if (at !== null && from === this.target) this.first = Math.max(0, at - 1);
    }
    this.#readAll();
  }

  stop(): void {
    this.#round++;
  }

  /** Shows turns from a place on; those at the end follow what comes. */
  go(first: number): void {
    this.first = first + TURNS >= this.total ? null : Math.max(0, first);
    this.#readAll();
  }

  /** Shows the newest turns, and keeps the end in view as more comes. */
  toEnd(): void {
    this.ends++;
    [this.first, this.target] = [null, null];
    this.#readAll();
  }

  /** Something of the session is new; of one request, if that is known. */
  changed(request?: string): void {
    if (request === undefined || !this.answer) return this.#readAll();
    if (!this.#isStale) this.#changed = new Set();
    this.#changed?.add(request);
    this.#isStale = true;
    if (!this.#isBusy) void this.#work();
  }

  #readAll(): void {
    this.#changed = null;
    this.#isStale = true;
    if (!this.#isBusy) void this.#work();
  }

  async #work() {
    this.#isBusy = true;
    while (this.#isStale) {
      this.#isStale = false;
      const [round, changed] = [this.#round, this.#changed];
      try {
        const places = changed && this.#places(changed);
        if (places) await this.#again(places, round);
        else await this.#read(round);
      } catch (thrown) {
        if (round === this.#round) this.fault = asFault(thrown);
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      if (round !== this.#round) break;
    }
    this.#isBusy = false;
  }

  /** Where in the list those turns are; null where one of them is not in it and may have to come. */
  #places(changed: ReadonlySet<string>): number[] | null {
    const { answer } = this;
    if (!answer) return null;
    const places = [...changed].map((id) => answer.turns.findIndex(({ run }) => run.id === id));
    return places.includes(-1) && this.first === null ? null : places.filter((at) => at >= 0);
  }

  async #read(round: number) {
    const audience = readFor(this.audience);
    const [answer, forks] = await Promise.all([
      this.host.conversation(this.session, { audience, offset: this.first, limit: TURNS }),
      this.host.forkTree(this.session),
    ]);
    if (round !== this.#round) return;
    // Turns near the end are followed, and shown with as many before them as there is room for.
    if (this.first !== null && this.first + TURNS >= answer.total) {
      this.first = null;
      if (answer.turns.length < Math.min(TURNS, answer.total)) {
        this.#isStale = true;
        return;
      }
    }
    [this.answer, this.forks, this.fault] = [answer, forks, null];
    if (this.first === null) this.newest = answer.turns.map(({ run }) => run);
  }

  /** Reads turns again, in place. */
  async #again(places: readonly number[], round: number) {
    const audience = readFor(this.audience);
    for (const at of places) {
      const { answer } = this;
      if (!answer) return;
      const found = await this.host.conversation(this.session, { audience, offset: answer.offset + at, limit: 1 });
      const [turn] = found.turns;
      if (round !== this.#round || this.answer !== answer || audience !== readFor(this.audience)) return;
      if (turn && turn.run.id === answer.turns[at]?.run.id)
        this.answer = { ...found, offset: answer.offset, turns: put(answer.turns, at, turn) };
    }
    this.fault = null;
  }
}

const put = (turns: readonly Turn[], at: number, turn: Turn): Turn[] => turns.map((one, n) => (n === at ? turn : one));
