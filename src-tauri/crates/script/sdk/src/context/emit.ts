// `ctx.emit`: items that an author's function makes.
//
// Must not: wait for anything. An item is evidence; only what was given wrong is refused, where it was given.

import { describeValue } from '../base/arguments';
import { checkComponent, checkContent, checkEmitOptions, checkStatus } from './ctx-arguments';
import { withIdentity } from '../define/identity';
import { tell } from '../define/known-keys';
import { warnOfOthers } from '../define/nested-keys';
import { askerBy, native, wire } from '../base/host';
import { toJson } from '../base/values';

type Json = Record<string, unknown>;

/**
 * What an emitted item can still become. Nothing needs to be done with it: every item is done at once. A function that
 * ends with an emit gives this away, which is nothing to store.
 */
class Emitted {
  readonly #replace: (next: unknown) => void;

  constructor(replace: (next: unknown) => void) {
    this.#replace = replace;
  }

  /** Replaces the data of a component, or the text of a status. */
  update(next: unknown): this {
    this.#replace(next);
    return this;
  }

  done(): void {}

  toJSON(): undefined {
    return undefined;
  }
}

type Part = Json & { type: string };

/** The unit at the end of a text that is half of a letter: a stream may be cut anywhere. */
function halfAtEnd(text: unknown): string {
  const unit = typeof text === 'string' ? text.charCodeAt(text.length - 1) : 0;
  return unit >= 0xd800 && unit < 0xdc00 ? String.fromCharCode(unit) : '';
}

/** A message that was emitted, to which more can be added. */
class EmittedMessage extends Emitted {
  readonly #parts: Part[];
  readonly #say: (parts: Part[], delta?: string) => void;
  /** What half of a letter the text ends with, and whether it waits for the other one. */
  #half: string;
  #isHeld = false;

  /** `say` tells of all parts, or, where only the last text grew, may tell of the delta alone. */
  constructor(content: string | Part[], say: (parts: Part[], delta?: string) => void) {
    super(() => {
      throw new Error('ctx.emit.message: what was said cannot be changed; appendDelta and addContent add to it');
    });
    this.#parts = typeof content === 'string' ? [{ type: 'output_text', text: content }] : [...content];
    this.#half = halfAtEnd(this.#parts.at(-1)?.text);
    this.#say = say;
  }

  /** Adds to the text at the end. */
  appendDelta(text: unknown): this {
    if (typeof text !== 'string')
      throw new TypeError(`appendDelta of a message needs a text, got ${describeValue(text)}`);
    const last = this.#parts.at(-1);
    if (last?.type !== 'output_text') return this.addContent({ type: 'output_text', text });
    this.#parts.splice(-1, 1, { ...last, text: `${last.text as string}${text}` });
    const piece = `${this.#half}${text}`;
    const wasTold = this.#half !== '' && !this.#isHeld;
    this.#half = halfAtEnd(piece);
    // It was told as what stands for a half, which no addition repairs.
    if (wasTold) return this.#sayAll();
    this.#isHeld = this.#half !== '';
    const whole = piece.slice(0, piece.length - this.#half.length);
    if (whole !== '') this.#say(this.#parts, whole);
    return this;
  }

  /** Adds a part. */
  addContent(part: unknown): this {
    checkContent([part], 'addContent of a message');
    this.#parts.push(part as Part);
    this.#half = halfAtEnd((part as Part).text);
    return this.#sayAll();
  }

  /** A half whose other half never came is told as any other is. */
  override done(): void {
    if (this.#isHeld) this.#sayAll();
  }

  #sayAll(): this {
    this.#isHeld = false;
    this.#say(this.#parts);
    return this;
  }
}

const COMMON = ['agentType', 'itemVisibility', 'agentName', 'transient', 'key'];
const OPTIONS: Record<string, readonly string[]> = {
  message: COMMON,
  component: COMMON,
  status: [...COMMON, 'blocked', 'backgroundTasks'],
};

export function emitters(token: number) {
  const emit = (kind: string, payload: Json, given: unknown): string | undefined => {
    const options = withIdentity(given, `ctx.emit.${kind}`);
    checkEmitOptions(options, `ctx.emit.${kind}`);
    if (options !== undefined) warnOfOthers(options, OPTIONS[kind] ?? COMMON, `ctx.emit.${kind}`, 'option of it', tell);
    return native.sync(
      'emit',
      askerBy(token),
      toJson({ kind, ...payload, options: options ?? {} }, `ctx.emit.${kind}`) as string,
    );
  };
  return {
    message: (content: unknown, options?: unknown) => {
      checkContent(content);
      const item = emit('message', { content }, options);
      const isKeyed = (options as Json | undefined)?.key !== undefined;
      return new EmittedMessage(content as string | Part[], (parts, delta) => {
        if (isKeyed) return void emit('message', { content: parts }, options);
        // A message may come in thousands of pieces: each costs no more than itself.
        if (delta !== undefined) return void native.sync('emit.delta', token, `[${item},${wire(delta)}]`);
        native.sync('emit.update', token, `[${item},"content",${toJson(parts, 'what is added to a message')}]`);
      });
    },
    component: (name: string, data?: unknown, options?: unknown) => {
      checkComponent(name);
      const item = emit('component', { name, data: data ?? null }, options);
      const isKeyed = (options as Json | undefined)?.key !== undefined;
      return new Emitted((next) => {
        if (isKeyed) return void emit('component', { name, data: next ?? null }, options);
        native.sync('emit.update', token, `[${item},"data",${toJson(next ?? null, 'update of a component')}]`);
      });
    },
    status: (message?: string, options?: unknown) => {
      checkStatus(message);
      emit('status', { message }, options);
      return new Emitted((next) => {
        checkStatus(next);
        emit('status', { message: next }, options);
      });
    },
  };
}
