// Faults that belong to no place on screen: they wait in a list until they are dismissed or
// were there for a while, and never stop the window.
import { asFault, type Fault } from '../host/host';

type Words = { title: string; advice: string };
export type Note = { id: number; fault: Fault; words: Words };

/** How long a note stays: long enough to read it twice. */
const STAYS_MS = 20_000;

export class Faults {
  notes: Note[] = $state.raw([]);
  /** Whether the pointer or the focus is on a note: then all of them stay. */
  isHeld = false;
  #ids = 0;

  add(thrown: unknown): void {
    const fault = asFault(thrown);
    this.tell(fault.message, WORDS[fault.kind], fault);
  }

  /** Something that is no fault of what was asked, in words of its own. */
  tell(message: string, words: Words, fault: Fault = { kind: 'internal', message }): void {
    // The same trouble told twice is one note; a failing loop must not fill the window.
    const others = this.notes.filter((note) => note.fault.message !== fault.message);
    const id = ++this.#ids;
    this.notes = [...others, { id, fault, words }].slice(-3);
    this.#end(id);
  }

  #end(id: number): void {
    setTimeout(() => {
      if (!this.notes.some((note) => note.id === id)) return;
      if (this.isHeld) this.#end(id);
      else this.dismiss(id);
    }, STAYS_MS);
  }

  dismiss(id: number): void {
    this.notes = this.notes.filter((note) => note.id !== id);
    // What is removed below a pointer does not say that the pointer left.
    this.isHeld = false;
  }
}

const WORDS: Record<Fault['kind'], Words> = {
  notFound: {
    title: 'Not found',
    advice: 'It may have been deleted, or the address is old. Choose another one from the list.',
  },
  refused: { title: 'Refused', advice: 'Nothing was changed.' },
  invalid: { title: 'Not valid', advice: 'Nothing was changed. Correct it and try again.' },
  notLoaded: { title: 'The flow does not load', advice: 'Correct its file and save it; it is loaded again at once.' },
  storage: {
    title: 'The database cannot be used',
    // The message says why, of which file, and what helps: it is the same on the command line.
    advice: 'After that, resume or try again.',
  },
  unavailable: {
    title: 'Something outside Flowglass is missing',
    advice: 'Start it or name another one; then try again.',
  },
  internal: {
    title: 'Something went wrong',
    advice: 'Try again; if it happens again, restart Flowglass.',
  },
};

/** What happened, what it means and what to do, from the kind alone: messages are never matched on. */
export const faultWords = (fault: Fault) => ({ ...WORDS[fault.kind], message: fault.message });

/** The same in the form of an action, which marks the fields that are wrong. */
export const formWords = (fault: Fault) =>
  fault.kind === 'invalid'
    ? { title: 'The input is not valid', message: fault.message, advice: 'Correct the marked fields and run again.' }
    : faultWords(fault);

/** The same of anything that was thrown. */
export const thrownWords = (thrown: unknown) => faultWords(asFault(thrown));

/** What is wrong with a filter, in one text; empty where nothing is. */
export function filterWords(fault: Fault | null): string {
  if (!fault) return '';
  const details = 'details' in fault ? fault.details.map((detail) => detail.message) : [];
  return [fault.message, ...details.filter((detail) => !fault.message.includes(detail))].join(' ');
}
