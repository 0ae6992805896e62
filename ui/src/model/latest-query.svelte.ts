// Asks one question at a time and shows the newest answer. While an answer is under way, only the last question
// waits; the ones between are never asked. It knows nothing about what is asked.
import { asFault, type Fault } from '../host/host';

export class LatestQuery<Q, A> {
  answer: A | null = $state.raw(null);
  /** The question that `answer` belongs to, so that nothing on screen has to guess how old it is. */
  question: Q | null = $state.raw(null);
  fault: Fault | null = $state.raw(null);
  busy = $state(false);

  #waiting: { question: Q } | null = null;
  #asked = '';
  #round = 0;

  /** `gap` is the least time between two questions, so that a fast run does not keep the window busy. `onanswer` is told
   * of each answer that is shown. */
  constructor(
    readonly find: (question: Q) => Promise<A>,
    readonly gap = 0,
    readonly onanswer = () => {},
  ) {}

  /** A question that was asked last is not asked again, unless `again` says that its answer may have changed. */
  ask(question: Q, again = false): void {
    const text = JSON.stringify(question);
    if (text === this.#asked && !again) return;
    this.#asked = text;
    this.#waiting = { question };
    if (!this.busy) void this.#work(this.#round);
  }

  /** Forgets everything; an answer that is still under way is dropped when it comes. */
  clear(): void {
    this.#round++;
    this.#waiting = null;
    this.#asked = '';
    this.answer = this.question = this.fault = null;
    this.busy = false;
  }

  async #work(round: number) {
    this.busy = true;
    while (this.#waiting && round === this.#round) {
      const { question } = this.#waiting;
      this.#waiting = null;
      let answer: A | null = null;
      let fault: Fault | null = null;
      const started = performance.now();
      try {
        answer = await this.find(question);
      } catch (thrown) {
        fault = asFault(thrown);
      }
      if (round !== this.#round) return;
      // A failed question keeps the last good answer on screen, beside the reason.
      if (!fault) {
        this.answer = answer;
        this.question = question;
        this.onanswer();
      } else {
        this.#asked = '';
      }
      this.fault = fault;
      // Answers that take long are asked for less often, so that the other side also gets to work.
      const pause = Math.max(this.gap, performance.now() - started);
      if (this.gap > 0) await new Promise((resolve) => setTimeout(resolve, pause));
    }
    if (round === this.#round) this.busy = false;
  }
}
