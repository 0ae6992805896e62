// Which rows of the open request are shown. The address owns the text; the rows follow it, and stay if it is wrong.
import { asFault, type Fault, type Filtered } from '../host/host';

export class RowFilter {
  /** The text that the rows follow. */
  text: string = $state.raw('');
  /** How many blocks match it. */
  matches: number | null = $state.raw(null);
  /** Why the newest text was refused. */
  fault: Fault | null = $state.raw(null);
  /** The newest text that was asked for. */
  wanted: string = $state.raw('');
  #round = 0;

  /** Another request is opened; `text` is its filter from the start. */
  begin(text: string): void {
    this.#round++;
    this.wanted = this.text = text;
    this.matches = this.fault = null;
  }

  /** A view was opened with a filter; a newer text is asked for again. */
  opened(text: string, answer: Filtered | Fault | null): void {
    this.#round++;
    this.wanted = text;
    const isRefused = answer !== null && 'kind' in answer;
    this.text = isRefused ? '' : text;
    this.fault = isRefused ? answer : null;
    this.matches = answer && !isRefused ? answer.matches : null;
  }

  /** Filters the rows by a text, unless they already are. An answer that another text or request overtook is dropped. */
  async show(text: string, ask: (text: string) => Promise<Filtered | null>): Promise<void> {
    if (text === this.wanted) return;
    this.wanted = text;
    const round = ++this.#round;
    try {
      const answer = await ask(text);
      if (round !== this.#round || !answer) return;
      this.text = text;
      this.matches = text ? answer.matches : null;
      this.fault = null;
    } catch (thrown) {
      if (round === this.#round) this.fault = asFault(thrown);
    }
  }
}
