// The expressions that are printed at lines of a request's code, with their hits. They are kept while the window is open,
// so that a hit can lead to another block and back.
import { asFault, type Fault, type Host, type Printed } from '../../../host/host';
import { expressionsOf } from './expressions';

/** Whom a line is printed for: the open request, or all requests of its flow. */
export type Reach = 'request' | 'flow';

export class Print {
  text = $state('');
  reach: Reach = $state('request');
  answer: Printed | null = $state.raw(null);
  fault: Fault | null = $state.raw(null);
  busy = $state(false);
  /** What the answer belongs to. */
  asked = $state('');
  /** How long the answer took, in milliseconds. */
  took = $state(0);
  #round = 0;

  constructor(
    readonly file: string,
    readonly line: number,
  ) {}

  /** Asks for the values at the line. An answer to what was asked before is dropped. */
  async run(host: Host, request: string, flow: string): Promise<void> {
    const expressions = expressionsOf(this.text);
    if (expressions.length === 0) return;
    const round = ++this.#round;
    this.busy = true;
    this.fault = null;
    const began = performance.now();
    const where = this.reach === 'request' ? { request } : { flow };
    const asked = this.text;
    try {
      const answer = await host.printAt({ file: this.file, line: this.line, expressions, ...where });
      if (round !== this.#round) return;
      this.answer = answer;
      this.asked = asked;
      this.took = performance.now() - began;
    } catch (thrown) {
      if (round !== this.#round) return;
      this.answer = null;
      this.fault = asFault(thrown);
    }
    this.busy = false;
  }
}

export class Prints {
  list: readonly Print[] = $state.raw([]);

  at(file: string, line: number): Print | undefined {
    return this.list.find((one) => one.file === file && one.line === line);
  }

  /** The print of a line; a new one has the text of the newest, which is often wanted again. */
  open(file: string, line: number): Print {
    const known = this.at(file, line);
    if (known) return known;
    const made = new Print(file, line);
    this.list = [...this.list, made];
    return made;
  }

  close(print: Print): void {
    this.list = this.list.filter((one) => one !== print);
  }
}
