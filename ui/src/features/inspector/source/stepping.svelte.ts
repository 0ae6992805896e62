// One execution of a block as it is stepped through. Moves are made one after the other, each from the statement that the
// move before reached; a jump drops the moves before it, and their answers.
import { asFault, type Fault, type InsideQuery, type Instant, type Move } from '../../../host/host';

type Step = { move: Move } | { tick: number };
type Ask = (query: InsideQuery) => Promise<Instant>;

/** A held key asks faster than statements are answered. */
const MAX_WAITING = 20;

/** Whether a move goes to what ran before. */
export const isBackwards = (move: Move): boolean =>
  typeof move === 'string' ? move.startsWith('back') : 'backTo' in move;

const lineOf = (move: Move): number | null => {
  if (typeof move === 'string') return null;
  return move.to ?? move.backTo ?? null;
};

export class Stepping {
  instant: Instant | null = $state.raw(null);
  /** The instant before the last move; the difference says what the statements between did. */
  before: Instant | null = $state.raw(null);
  fault: Fault | null = $state.raw(null);
  busy = $state(false);
  /** Why the watch expressions have no values here, if one of them cannot be read. */
  watchFault: Fault | null = $state.raw(null);
  #waiting: Step[] = [];
  #round = 0;

  /** `block` is `PATH#ATTEMPT`. `onmoved` is called for each instant that a person moved to. */
  constructor(
    readonly ask: Ask,
    readonly block: string,
    readonly watches: () => readonly string[],
    readonly onmoved: (instant: Instant) => void,
  ) {}

  /** Shows where the block failed, or else its first statement, and moves nothing. */
  open(): void {
    void this.#restart({ move: 'stay' }, false);
  }

  step(move: Move): void {
    if (this.#waiting.length >= MAX_WAITING) return;
    this.#waiting.push({ move });
    if (!this.busy) void this.#work(true);
  }

  /** Shows a statement by its number. */
  goTo(tick: number): void {
    if (this.instant?.tick === tick && !this.busy) return;
    void this.#restart({ tick }, true);
  }

  /** The same while a slider is dragged: of the statements it passes, only the newest is asked for. */
  seek(tick: number): void {
    this.#waiting = [{ tick }];
    if (!this.busy) void this.#work(true);
  }

  /** Asks again for the same instant: the watch expressions have changed. */
  async watchAgain(): Promise<void> {
    const { instant } = this;
    if (!instant || this.busy) return;
    const round = this.#round;
    const fresh = await this.#ask(instant.instant, 'stay').catch(() => null);
    // A move that was made meanwhile asked with the same expressions.
    if (fresh && round === this.#round && this.instant?.tick === instant.tick) this.instant = fresh;
  }

  /** Drops whatever is under way; to be called when the block is no longer shown. */
  stop(): void {
    this.#round++;
    this.#waiting = [];
  }

  #restart(step: Step, isMove: boolean) {
    this.#round++;
    this.#waiting = [step];
    return this.#work(isMove);
  }

  async #work(isMove: boolean) {
    const round = this.#round;
    this.busy = true;
    for (let step = this.#waiting.shift(); step; step = this.#waiting.shift()) {
      try {
        const found = await this.#take(step);
        if (round !== this.#round) return;
        if (found.instant !== this.instant?.instant) this.before = this.instant;
        this.instant = found;
        this.fault = null;
        if (isMove) this.onmoved(found);
      } catch (thrown) {
        if (round !== this.#round) return;
        this.fault = asFault(thrown);
        this.#waiting = [];
      }
      // What waits was asked for by a person.
      isMove = true;
    }
    this.busy = false;
  }

  #take(step: Step): Promise<Instant> {
    if ('tick' in step) return this.#ask(`${this.block}+${step.tick}`, 'stay');
    return this.instant ? this.#ask(this.instant.instant, step.move) : this.#begin(step.move);
  }

  /** The first move: forwards it begins at the first statement, and backwards at the last. */
  async #begin(move: Move): Promise<Instant> {
    if (lineOf(move) !== null && !isBackwards(move)) return this.#ask(`${this.block}+0`, move);
    const first = await this.#ask(this.block, 'stay');
    if (!isBackwards(move)) return first;
    if (lineOf(move) !== null) return this.#ask(`${this.block}+${first.ticks + 1}`, move);
    return first.tick === first.ticks ? first : this.#ask(`${this.block}+${first.ticks}`, 'stay');
  }

  async #ask(at: string, to: Move): Promise<Instant> {
    const watches = [...this.watches()];
    try {
      const found = await this.ask({ at, to, watches });
      this.watchFault = null;
      return found;
    } catch (thrown) {
      const fault = asFault(thrown);
      if (fault.kind !== 'invalid' || watches.length === 0) throw fault;
      // An expression that one file can have and another cannot must not end the stepping.
      const found = await this.ask({ at, to, watches: [] });
      this.watchFault = fault;
      return found;
    }
  }
}
