// node:url: the URL of the web, and paths of files as URLs.
//
// Must not: have the parser from before URLs had a standard (`url.parse`).

import posix from './posix';
import { SearchParams as URLSearchParams, WebURL } from '../globals/web';

/** The class as it is at run time, where its parts are properties. */
interface Parts {
  href: string;
  protocol: string;
  hostname: string;
  host: string;
  pathname: string;
  search: string;
  hash: string;
  port: string;
  username: string;
  password: string;
}
const URL = WebURL as unknown as new (url: string, base?: string) => Parts;

export function fileURLToPath(url: string | Parts): string {
  const found = typeof url === 'string' ? new URL(url) : url;
  if (found.protocol !== 'file:') throw new TypeError(`fileURLToPath needs a file: URL, not ${found.href}`);
  if (found.hostname !== '') throw new TypeError(`fileURLToPath: ${found.href} names a host, ${found.hostname}`);
  if (/%2f/i.test(found.pathname)) throw new TypeError(`fileURLToPath: ${found.href} has a / in the name of a file`);
  return decodeURIComponent(found.pathname);
}

export function pathToFileURL(path: string): Parts {
  const whole = posix.resolve(path) + (path.endsWith('/') && path !== '/' ? '/' : '');
  const plain = whole.replace(/[%?#\\\n\r\t]/g, (letter) => encodeURIComponent(letter));
  return new URL(`file://${plain}`);
}

/** The text of a URL, without the parts that the options leave out. */
export function format(url: Parts | string, options: { fragment?: boolean; search?: boolean; auth?: boolean } = {}): string {
  const copy = new URL(typeof url === 'string' ? url : url.href);
  if (options.fragment === false) copy.hash = '';
  if (options.search === false) copy.search = '';
  if (options.auth === false) {
    copy.username = '';
    copy.password = '';
  }
  return copy.href;
}

export function urlToHttpOptions(url: Parts): Record<string, unknown> {
  const { protocol, hostname, hash, search, pathname, href, port } = url;
  return { protocol, hostname, hash, search, pathname, path: pathname + search, href, ...(port && { port: Number(port) }) };
}

export { URL, URLSearchParams };
export default { URL, URLSearchParams, fileURLToPath, format, pathToFileURL, urlToHttpOptions };
