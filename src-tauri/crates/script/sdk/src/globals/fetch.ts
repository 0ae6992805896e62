// `fetch` and its kin. The exchange itself, and whether it is allowed, is the engine's affair.
//
// Must not: decide which hosts may be reached. Bodies are whole, never streams.

import { bytesOf, fromBase64, toBase64 } from '../base/bytes';
import { ask, currentToken, LOAD } from '../base/host';
import { showAs } from '../base/shown';
import { Decoder, Encoder, SearchParams, WebURL, type Signal } from './web';

type Pairs = [string, string][];

export class WebHeaders {
  #values = new Map<string, string>();

  constructor(init?: unknown) {
    if (init === undefined || init === null) return;
    const pairs: Iterable<unknown> =
      init instanceof WebHeaders || Array.isArray(init) ? (init as Iterable<unknown>) : Object.entries(init as object);
    for (const pair of pairs) {
      const [name, value] = pair as [unknown, unknown];
      this.append(String(name), String(value));
    }
  }

  append(name: string, value: string): void {
    const key = headerName(name);
    const before = this.#values.get(key);
    const text = String(value).trim();
    this.#values.set(key, before === undefined ? text : `${before}, ${text}`);
  }
  set(name: string, value: string): void {
    this.#values.set(headerName(name), String(value).trim());
  }
  get(name: string): string | null {
    return this.#values.get(headerName(name)) ?? null;
  }
  has(name: string): boolean {
    return this.#values.has(headerName(name));
  }
  delete(name: string): void {
    this.#values.delete(headerName(name));
  }
  forEach(callback: (value: string, name: string, all: WebHeaders) => void): void {
    for (const [name, value] of this.entries()) callback(value, name, this);
  }
  entries(): IterableIterator<[string, string]> {
    return [...this.#values].sort(([a], [b]) => (a < b ? -1 : 1))[Symbol.iterator]();
  }
  keys(): IterableIterator<string> {
    return [...this.entries()].map(([name]) => name)[Symbol.iterator]();
  }
  values(): IterableIterator<string> {
    return [...this.entries()].map(([, value]) => value)[Symbol.iterator]();
  }
  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }

  static {
    showAs(WebHeaders, 'Headers', (it) => ({ map: it.#values }));
  }
}

function headerName(name: unknown): string {
  const text = String(name);
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(text)) throw new TypeError(`"${text}" is not a header's name`);
  return text.toLowerCase();
}

/** A body on its way in or out: text, or bytes as base64. */
interface Body {
  text: string;
  base64: boolean;
}

/** What an author gives as a body, and the content type that goes with it. */
function bodyOf(value: unknown): { body: Body; type?: string } | undefined {
  if (value === undefined || value === null) return undefined;
  const bytes = bytesOf(value);
  if (bytes) return { body: { text: toBase64(bytes), base64: true } };
  if (typeof value === 'string') return { body: { text: value, base64: false }, type: 'text/plain;charset=UTF-8' };
  if (value instanceof SearchParams) {
    const type = 'application/x-www-form-urlencoded;charset=UTF-8';
    return { body: { text: String(value), base64: false }, type };
  }
  throw new TypeError(
    'fetch: a body is a string, URLSearchParams, an ArrayBuffer or a Uint8Array; use JSON.stringify for JSON',
  );
}

/** What requests and responses have in common: a body that is read once. */
class Message {
  readonly headers: WebHeaders;
  bodyUsed = false;
  protected readonly content: Body | undefined;

  constructor(headers: unknown, given: { body: Body; type?: string } | undefined) {
    this.headers = new WebHeaders(headers);
    this.content = given?.body;
    if (given?.type !== undefined && !this.headers.has('content-type')) this.headers.set('content-type', given.type);
  }

  #take(): Body {
    if (this.bodyUsed) throw new TypeError('the body was read already; clone() before the first reading');
    this.bodyUsed = this.content !== undefined;
    return this.content ?? { text: '', base64: false };
  }
  async text(): Promise<string> {
    const { text, base64 } = this.#take();
    return base64 ? new Decoder().decode(fromBase64(text)) : text.replace(/^\ufeff/, '');
  }
  async json(): Promise<unknown> {
    return JSON.parse(await this.text()) as unknown;
  }
  async bytes(): Promise<Uint8Array> {
    const { text, base64 } = this.#take();
    return base64 ? fromBase64(text) : new Encoder().encode(text);
  }
  async arrayBuffer(): Promise<ArrayBuffer> {
    return (await this.bytes()).buffer as ArrayBuffer;
  }
  protected whole(): { body: Body } | undefined {
    if (this.bodyUsed) throw new TypeError('the body was read already; clone() before the first reading');
    return this.content && { body: this.content };
  }
}

interface Init {
  method?: string;
  headers?: unknown;
  body?: unknown;
  signal?: Signal | null;
  redirect?: string;
}

const REDIRECTS = ['follow', 'error', 'manual'];
/** Those that send the client elsewhere, where they say where. */
const REDIRECTING = [301, 302, 303, 307, 308];

class WebRequest extends Message {
  readonly url: string;
  readonly method: string;
  readonly signal: Signal | undefined;
  readonly redirect: string;

  constructor(resource: unknown, init: Init = {}) {
    const from = resource instanceof WebRequest ? resource : undefined;
    const given = init.body === undefined ? from?.whole() : bodyOf(init.body);
    super(init.headers ?? from?.headers, given);
    this.url = from ? from.url : addressOf(String(resource));
    const method = String(init.method ?? from?.method ?? 'GET');
    this.method = /^(get|head|post|put|delete|options)$/i.test(method) ? method.toUpperCase() : method;
    this.signal = init.signal === undefined ? from?.signal : (init.signal ?? undefined);
    this.redirect = String(init.redirect ?? from?.redirect ?? 'follow');
    if (!REDIRECTS.includes(this.redirect)) {
      throw new TypeError(`fetch: redirect is "follow", "error" or "manual", not "${this.redirect}"`);
    }
    if (given && /^(GET|HEAD)$/.test(this.method)) throw new TypeError(`fetch: ${this.method} has no body`);
  }

  wire(): object {
    const { text, base64 } = this.whole()?.body ?? {};
    const redirect = this.redirect;
    return { url: this.url, method: this.method, headers: [...this.headers], body: text, base64, redirect };
  }
  clone(): WebRequest {
    return new WebRequest(this);
  }
}

/** A reply as the engine records it. */
interface Reply {
  status: number;
  statusText: string;
  url: string;
  headers?: Pairs;
  body: string;
  base64?: boolean;
}

class WebResponse extends Message {
  readonly status: number;
  readonly statusText: string;
  readonly url: string = '';

  constructor(body?: unknown, init: { status?: number; statusText?: string; headers?: unknown } = {}) {
    super(init.headers, bodyOf(body));
    this.status = init.status ?? 200;
    this.statusText = init.statusText ?? '';
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }
  clone(): WebResponse {
    this.whole();
    return WebResponse.of(this, this.url, this.content);
  }

  static json(data: unknown, init: { status?: number; statusText?: string; headers?: unknown } = {}): WebResponse {
    const headers = new WebHeaders(init.headers);
    if (!headers.has('content-type')) headers.set('content-type', 'application/json');
    return new WebResponse(JSON.stringify(data), { ...init, headers });
  }
  /** Not of the standard: a response that came from somewhere. */
  static of(init: { status: number; statusText: string; headers?: unknown }, url: string, content?: Body): WebResponse {
    const response = new WebResponse(undefined, init);
    return Object.assign(response, { url, content } as object);
  }
}

/** An address as people read it: without what may carry secrets. */
function shown(url: string): string {
  return url.replace(/[?#].*$/s, '').replace(/\/\/[^/]*@/, '//');
}

function addressOf(text: string): string {
  try {
    return new WebURL(text).href;
  } catch {
    throw new TypeError(`fetch: "${shown(text)}" is not an absolute URL`);
  }
}

function webFetch(resource: unknown, init?: Init): Promise<WebResponse> {
  const token = currentToken();
  // Thrown on the spot, so that it fails the load even where nobody awaits it.
  if (token === LOAD) throw new Error('fetch cannot be used while a file loads; call it inside a block');
  return new Promise<WebResponse>((resolve, reject) => {
    const request = new WebRequest(resource, init);
    const { signal } = request;
    if (signal?.aborted) throw signal.reason;
    let ended = (): void => undefined;
    const answer = ask(token, 'fetch', request.wire(), (stop) => {
      signal?.addEventListener('abort', stop);
      ended = () => signal?.removeEventListener('abort', stop);
    });
    answer.then(
      (json) => {
        ended();
        const { body, base64, ...reply } = JSON.parse(json) as Reply;
        const isRedirect = REDIRECTING.includes(reply.status) && new WebHeaders(reply.headers).has('location');
        if (isRedirect && request.redirect === 'error') {
          reject(new TypeError(`fetch of ${shown(request.url)}: the server redirects, and redirect is "error"`));
          return;
        }
        resolve(WebResponse.of(reply, reply.url, { text: body, base64: base64 === true }));
      },
      (error: unknown) => {
        ended();
        reject(signal?.aborted ? signal.reason : error);
      },
    );
  });
}

showAs(WebRequest, 'Request');
showAs(WebResponse, 'Response');
Object.assign(globalThis, { fetch: webFetch, Headers: WebHeaders, Request: WebRequest, Response: WebResponse });
