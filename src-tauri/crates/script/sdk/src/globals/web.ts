// Web globals that need no clock and no network: URL, text encoding, abort signals.
//
// Must not: reach outside. URLs are taken apart by the host's parser, which follows the standard.

import { ask, currentToken, codeOfListener, native, runAs } from '../base/host';
import { describeThrown } from '../base/inspect';
import { showAs } from '../base/shown';

declare const console: { warn(text: string): void };

interface Parts {
  href: string;
  protocol: string;
  username: string;
  password: string;
  host: string;
  hostname: string;
  port: string;
  pathname: string;
  search: string;
  hash: string;
  origin: string;
}

function parts(url: string, base?: string, change?: [string, string]): Parts {
  const answer = native.sync('url', currentToken(), JSON.stringify([url, base ?? null, change ?? null]));
  if (answer === undefined) throw new TypeError(`Invalid URL: ${url}`);
  return JSON.parse(answer) as Parts;
}

class SearchParams {
  #pairs: [string, string][] = [];
  #changed: (() => void) | undefined;

  constructor(init: unknown = '', changed?: () => void) {
    if (typeof init === 'string') this.#parse(init);
    else if (init instanceof SearchParams) this.#pairs = [...init];
    else if (Array.isArray(init)) this.#pairs = init.map(([k, v]: [unknown, unknown]) => [String(k), String(v)]);
    else if (typeof init === 'object' && init !== null) {
      this.#pairs = Object.entries(init).map(([k, v]) => [k, String(v)]);
    }
    this.#changed = changed;
  }

  #parse(text: string): void {
    const decode = (part: string) => decodeURIComponent(part.replace(/\+/g, ' '));
    for (const pair of text.replace(/^\?/, '').split('&')) {
      if (pair === '') continue;
      const cut = pair.indexOf('=');
      this.#pairs.push(cut < 0 ? [decode(pair), ''] : [decode(pair.slice(0, cut)), decode(pair.slice(cut + 1))]);
    }
  }

  get size(): number {
    return this.#pairs.length;
  }
  get(name: string): string | null {
    return this.#pairs.find(([key]) => key === name)?.[1] ?? null;
  }
  getAll(name: string): string[] {
    return this.#pairs.filter(([key]) => key === name).map(([, value]) => value);
  }
  has(name: string): boolean {
    return this.#pairs.some(([key]) => key === name);
  }
  append(name: string, value: string): void {
    this.#pairs.push([String(name), String(value)]);
    this.#changed?.();
  }
  set(name: string, value: string): void {
    const at = this.#pairs.findIndex(([key]) => key === name);
    if (at < 0) this.#pairs.push([String(name), String(value)]);
    else {
      this.#pairs[at] = [String(name), String(value)];
      this.#pairs = this.#pairs.filter(([key], index) => key !== name || index === at);
    }
    this.#changed?.();
  }
  delete(name: string): void {
    this.#pairs = this.#pairs.filter(([key]) => key !== name);
    this.#changed?.();
  }
  sort(): void {
    this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    this.#changed?.();
  }
  forEach(callback: (value: string, key: string, all: SearchParams) => void): void {
    for (const [key, value] of this.#pairs) callback(value, key, this);
  }
  keys(): IterableIterator<string> {
    return this.#pairs.map(([key]) => key)[Symbol.iterator]();
  }
  values(): IterableIterator<string> {
    return this.#pairs.map(([, value]) => value)[Symbol.iterator]();
  }
  entries(): IterableIterator<[string, string]> {
    return this.#pairs[Symbol.iterator]();
  }
  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }
  toString(): string {
    const encode = (part: string) =>
      encodeURIComponent(part)
        .replace(/%20/g, '+')
        .replace(/[!'()~]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
    return this.#pairs.map(([key, value]) => `${encode(key)}=${encode(value)}`).join('&');
  }

  static {
    showAs(SearchParams, 'URLSearchParams', (it) => ({ pairs: it.#pairs }));
  }
}

class WebURL {
  #parts: Parts;
  #search: SearchParams | undefined;

  constructor(url: string | WebURL, base?: string | WebURL) {
    this.#parts = parts(String(url), base === undefined ? undefined : String(base));
  }

  static canParse(url: string, base?: string): boolean {
    return native.sync('url', currentToken(), JSON.stringify([String(url), base ?? null, null])) !== undefined;
  }

  #change(name: string, value: string): void {
    this.#parts = parts(this.#parts.href, undefined, [name, String(value)]);
    if (name !== 'searchParams') this.#search = undefined;
  }

  get searchParams(): SearchParams {
    this.#search ??= new SearchParams(this.#parts.search, () => {
      this.#parts = parts(this.#parts.href, undefined, ['search', String(this.#search)]);
    });
    return this.#search;
  }
  get href(): string {
    return this.#parts.href;
  }
  set href(value: string) {
    this.#parts = parts(value);
    this.#search = undefined;
  }
  get origin(): string {
    return this.#parts.origin;
  }
  toString(): string {
    return this.#parts.href;
  }
  toJSON(): string {
    return this.#parts.href;
  }

  static {
    for (const name of ['protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash']) {
      Object.defineProperty(WebURL.prototype, name, {
        enumerable: true,
        get(this: WebURL) {
          return this.#parts[name as keyof Parts];
        },
        set(this: WebURL, value: string) {
          this.#change(name, value);
        },
      });
    }
    showAs(WebURL, 'URL', (it) => {
      const { href, origin, protocol, username, password, host, pathname, search, hash } = it.#parts;
      const fields: (readonly [string, unknown])[] = [
        ['href', href],
        ['origin', origin],
        ['protocol', protocol],
        ['username', username],
        ['password', password],
        ['host', host],
        ['pathname', pathname],
        ['search', search],
        ['hash', hash],
      ];
      return { value: href, fields };
    });
  }
}

class Encoder {
  readonly encoding = 'utf-8';

  encode(text = ''): Uint8Array {
    const bytes: number[] = [];
    for (const char of text) {
      let code = char.codePointAt(0) as number;
      if (code >= 0xd800 && code <= 0xdfff) code = 0xfffd;
      if (code < 0x80) bytes.push(code);
      else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 63));
      else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
      else {
        bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
      }
    }
    return new Uint8Array(bytes);
  }
}

class Decoder {
  readonly encoding = 'utf-8';

  decode(input?: ArrayBuffer | ArrayBufferView): string {
    if (input === undefined) return '';
    const bytes =
      input instanceof ArrayBuffer
        ? new Uint8Array(input)
        : new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
    let text = '';
    for (let at = 0; at < bytes.length;) {
      const first = bytes[at++] as number;
      const more = first < 0x80 ? 0 : first >= 0xf0 && first < 0xf8 ? 3 : first >= 0xe0 ? 2 : first >= 0xc2 ? 1 : -1;
      let code = more === 0 ? first : first & (0x3f >> Math.max(more, 0));
      let whole = more >= 0;
      for (let n = 0; n < more; n++) {
        const next = bytes[at] ?? 0;
        if ((next & 0xc0) !== 0x80) {
          whole = false;
          break;
        }
        code = (code << 6) | (next & 63);
        at++;
      }
      text += whole && code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
    }
    return text.replace(/^\ufeff/, '');
  }
}

interface AbortEvent {
  type: 'abort';
  target: Signal;
  currentTarget: Signal;
}
type Listener = ((this: Signal, event: AbortEvent) => void) | { handleEvent(event: AbortEvent): void };

function abortError(): Error {
  const error = new Error('This operation was aborted');
  error.name = 'AbortError';
  return error;
}

/** A listener that throws neither fails the call that aborts nor keeps other listeners from being called. */
function callSafely(signal: Signal, listener: Listener): void {
  const event: AbortEvent = { type: 'abort', target: signal, currentTarget: signal };
  try {
    if (typeof listener === 'function') listener.call(signal, event);
    else listener.handleEvent(event);
  } catch (error) {
    console.warn(`a listener of an abort signal threw, which changes nothing: ${describeThrown(error)}`);
  }
}

class Signal {
  aborted = false;
  reason: unknown = undefined;
  /** Each with the call that added it. */
  #listeners = new Map<Listener, number>();
  #onabort: Listener | null = null;
  readonly #callOnabort = (event: AbortEvent): void => {
    if (typeof this.#onabort === 'function') this.#onabort.call(this, event);
  };
  /** The signals of `any` that abort with this one. */
  #dependents = new Set<Signal>();
  /** The signals with which this one aborts. */
  readonly #sources: Signal[] = [];
  /** How many listen, here or to a dependent. */
  #listening = 0;
  /** Of a timeout that has not passed: whether the engine must wait for it. */
  #hold: ((hasListeners: boolean) => void) | undefined;

  get onabort(): Listener | null {
    return this.#onabort;
  }
  /** A function that replaces another one is called in its place, as the call that set it. */
  set onabort(value: unknown) {
    this.#onabort = typeof value === 'function' ? (value as Listener) : null;
    if (!this.#onabort) {
      this.removeEventListener('abort', this.#callOnabort);
      return;
    }
    this.addEventListener('abort', this.#callOnabort);
    this.#listeners.set(this.#callOnabort, currentToken());
  }

  addEventListener(type: string, listener: Listener): void {
    if (type !== 'abort' || this.#listeners.has(listener)) return;
    this.#listeners.set(listener, currentToken());
    this.#listen(1);
  }
  removeEventListener(_type: string, listener: Listener): void {
    if (this.#listeners.delete(listener)) this.#listen(-1);
  }
  #listen(by: 1 | -1): void {
    const before = this.#listening > 0;
    this.#listening += by;
    if (this.#listening > 0 === before) return;
    this.#hold?.(!before);
    for (const source of this.#sources) source.#listen(by);
  }
  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  /**
   * What a controller does; not part of the standard's surface. Each listener runs as the call that added it, so that
   * its timers and log lines belong to that block, or, if that call has ended, as the code that aborts.
   */
  static stop(signal: Signal, reason: unknown): void {
    if (signal.aborted) return;
    const all = Signal.#mark(signal, reason === undefined ? abortError() : reason);
    for (const one of all) {
      for (const [listener, token] of [...one.#listeners]) {
        runAs(codeOfListener(token), () => callSafely(one, listener));
      }
    }
  }

  /** Marks a signal and those that depend on it as aborted, before any listener looks. Returns them in that order. */
  static #mark(signal: Signal, reason: unknown): Signal[] {
    signal.aborted = true;
    signal.reason = reason;
    const dependents = [...signal.#dependents];
    signal.#dependents.clear();
    // Who listens hears of no other source any more.
    for (const source of signal.#listening > 0 ? signal.#sources : []) source.#listen(-1);
    signal.#sources.length = 0;
    return [signal, ...dependents.flatMap((one) => (one.aborted ? [] : Signal.#mark(one, reason)))];
  }

  static abort(reason?: unknown): Signal {
    const signal = new Signal();
    Signal.stop(signal, reason);
    return signal;
  }
  static timeout(ms: number): Signal {
    const signal = new Signal();
    const token = currentToken();
    const began = (_clear: () => void, hold: (hasListeners: boolean) => void): void => void (signal.#hold = hold);
    void ask(token, 'timeout', ms, began).then(() => {
      signal.#hold = undefined;
      const error = new Error('The operation was aborted due to timeout');
      error.name = 'TimeoutError';
      runAs(token, () => Signal.stop(signal, error));
    });
    return signal;
  }
  static any(signals: Iterable<Signal>): Signal {
    const all = new Signal();
    const given = [...signals];
    const aborted = given.find((signal) => signal.aborted);
    if (aborted) Signal.stop(all, aborted.reason);
    for (const signal of aborted ? [] : given) {
      signal.#dependents.add(all);
      all.#sources.push(signal);
    }
    return all;
  }
}

/** `ctx.signal`: fires when the request is aborted. */
export const requestSignal = new Signal();

/** Called by Rust before the request stops: what listens may still tidy up, but not wait. */
export function abortRequest(): void {
  const error = new Error('The request was aborted');
  error.name = 'AbortError';
  Signal.stop(requestSignal, error);
}

class Controller {
  readonly signal = new Signal();

  abort(reason?: unknown): void {
    Signal.stop(this.signal, reason);
  }
}

showAs(Encoder, 'TextEncoder');
showAs(Decoder, 'TextDecoder');
showAs(Controller, 'AbortController');
showAs(Signal, 'AbortSignal');

export { Decoder, Encoder, SearchParams, Signal, WebURL };

Object.assign(globalThis, {
  URL: WebURL,
  URLSearchParams: SearchParams,
  TextEncoder: Encoder,
  TextDecoder: Decoder,
  AbortController: Controller,
  AbortSignal: Signal,
});
