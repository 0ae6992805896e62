// One scope's state in the course of a request, made from the steps that the file has: the state as of any event, and
// who wrote a place. `runner/src/workspace/moving/page/track.rs` writes the steps, and says what their fields are.
import { valueAt } from '../../base/path';
import { equal } from './difference';

type Fields = Record<string, unknown>;
export type Step = {
  s: number;
  v: number;
  z?: 1;
  f?: Fields;
  p?: Record<string, unknown[]>;
  k?: Record<string, Fields>;
  d?: Record<string, string[]>;
  r?: string[];
  w?: number;
  o?: string;
  b?: string;
  x?: 1;
};
export type WrittenTrack = {
  kind: string;
  id: string;
  name: string | null;
  begins: number | null;
  until: number | null;
  steps: Step[];
  exists?: string;
};

/** What a step did to one field: put a value, changed a part of it, or took it away. */
type Part = { step: number; put?: unknown; isPut: boolean };
/** Values of a field that are kept, so that comparing two instants compares only what differs. */
const MAX_KEPT = 8;

export class Track {
  readonly #parts = new Map<string, Part[]>();
  readonly #made = new Map<string, Map<number, unknown>>();

  constructor(readonly written: WrittenTrack) {
    const add = (field: string, part: Part) => {
      const known = this.#parts.get(field);
      if (known) known.push(part);
      else this.#parts.set(field, [part]);
    };
    written.steps.forEach(({ z, f, p, k, d, r }, step) => {
      const gone = z ? [...this.#parts.keys()].filter((field) => !f || !Object.hasOwn(f, field)) : (r ?? []);
      for (const field of gone) add(field, { step, isPut: true });
      for (const [field, put] of Object.entries(f ?? {})) add(field, { step, put, isPut: true });
      for (const parts of [p, k, d]) for (const field of Object.keys(parts ?? {})) add(field, { step, isPut: false });
    });
  }

  get isOfBlock(): boolean {
    return this.written.kind === 'sequencer' || this.written.kind === 'block';
  }

  /** Whether it is there as of an event: a block's state once the block began, until a later execution has one. */
  isThere(seq: number): boolean {
    const { begins, until } = this.written;
    return (until === null || seq < until) && (!this.isOfBlock || (begins !== null && begins <= seq));
  }

  /** The last step at or before an event; -1 for none. */
  stepAt(seq: number): number {
    const { steps } = this.written;
    let [low, high] = [0, steps.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((steps[middle]?.s ?? 0) <= seq) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  version(seq: number): number {
    return this.written.steps[this.stepAt(seq)]?.v ?? 0;
  }

  /** The state after a step. */
  state(step: number): Fields {
    const found: Fields = {};
    for (const field of this.#parts.keys()) {
      const value = this.#field(field, step);
      if (value !== undefined) found[field] = value;
    }
    return found;
  }

  /** The steps that wrote to a place, with its value before and after each; the newest first, down to an event. */
  *writesTo(path: readonly (string | number)[], from: number, to: number): Generator<[Step, unknown, unknown]> {
    const { steps } = this.written;
    for (let at = this.stepAt(to); at >= 0 && (steps[at]?.s ?? 0) > from; at--) {
      const step = steps[at] as Step;
      if (step.w === undefined && step.x === undefined) continue;
      if (path.length > 0 && !this.#touches(at, String(path[0]))) continue;
      const [old, now] = [this.#place(at - 1, path), this.#place(at, path)];
      if (!equal(old, now)) yield [step, old, now];
    }
  }

  #touches(step: number, field: string): boolean {
    const parts = this.#parts.get(field);
    return parts?.[lastAt(parts, step)]?.step === step;
  }

  #place(step: number, [field, ...rest]: readonly (string | number)[]): unknown {
    if (field === undefined) return this.state(step);
    return valueAt(this.#field(String(field), step), rest);
  }

  #field(field: string, step: number): unknown {
    const parts = this.#parts.get(field) ?? [];
    const last = lastAt(parts, step);
    if (last < 0) return undefined;
    if (parts[last]?.isPut) return parts[last].put;
    const made = this.#made.get(field) ?? new Map<number, unknown>();
    this.#made.set(field, made);
    if (!made.has(last)) {
      if (made.size >= MAX_KEPT) made.delete(made.keys().next().value as number);
      made.set(last, this.#make(field, parts, last));
    }
    return made.get(last);
  }

  /** The last value that was put, with what was changed in it since. */
  #make(field: string, parts: readonly Part[], last: number): unknown {
    let first = last;
    while (first > 0 && !parts[first]?.isPut) first--;
    const base = parts[first]?.put;
    const list = Array.isArray(base) ? [...(base as unknown[])] : null;
    const record: Fields | null = list || typeof base !== 'object' ? null : { ...base };
    for (const { step } of parts.slice(first + 1, last + 1)) {
      const { p, k, d } = this.written.steps[step] as Step;
      if (list) list.push(...(p?.[field] ?? []));
      if (record) Object.assign(record, k?.[field]);
      if (record) for (const key of d?.[field] ?? []) delete record[key];
    }
    return list ?? record ?? base;
  }
}

/** The last part at or before a step; -1 for none. */
function lastAt(parts: readonly Part[], step: number): number {
  let [low, high] = [0, parts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((parts[middle]?.step ?? 0) <= step) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
