// What stands for node:fs: the texts of the project that are a part of the bundle, to read.
//
// Must not: read or write a file. What the bundler did not put there is not there.

import { entriesIn, textAt } from '../base/texts';
import { Buffer } from './buffer';
import { surroundings } from './host';

type Path = string | { href: string; pathname: string };
type Encoded = string | { encoding?: string | null } | null;

const { cwd } = surroundings();

/** A path from the workspace's folder: modules lie there as if it were the root, and `process.cwd()` names it. */
function asPath(path: Path): string {
  const whole = typeof path === 'string' ? path.replace(/^file:\/\//, '') : decodeURIComponent(path.pathname);
  return whole === cwd || whole.startsWith(`${cwd}/`) ? whole.slice(cwd.length) : whole;
}

function missing(what: string, path: string): Error {
  const message = `ENOENT: no such file or directory, ${what} '${path}'; a flow has the texts that its modules name`;
  return Object.assign(new Error(message), { code: 'ENOENT', errno: -2, syscall: what, path });
}

class Kind {
  constructor(
    readonly name: string,
    private readonly kind: 'file' | 'folder',
    readonly size: number,
  ) {}

  isFile(): boolean {
    return this.kind === 'file';
  }

  isDirectory(): boolean {
    return this.kind === 'folder';
  }

  isSymbolicLink(): boolean {
    return false;
  }
}

export function existsSync(path: Path): boolean {
  const at = asPath(path);
  return textAt(at) !== undefined || entriesIn(at) !== undefined;
}

export function readFileSync(path: Path, encoded?: Encoded): unknown {
  const text = textAt(asPath(path));
  if (text === undefined) throw missing('open', asPath(path));
  const encoding = typeof encoded === 'string' ? encoded : encoded?.encoding;
  const bytes = Buffer.from(text);
  return encoding === undefined || encoding === null ? bytes : bytes.toString(encoding as never);
}

export function readdirSync(path: Path, options?: { withFileTypes?: boolean; recursive?: boolean }): unknown[] {
  const entries = entriesIn(asPath(path));
  if (!entries) throw missing('scandir', asPath(path));
  const names = [...entries.keys()].sort();
  const shown = names.map((name) => (options?.withFileTypes ? new Kind(name, entries.get(name) as 'file', 0) : name));
  if (!options?.recursive) return shown;
  const inside = names.filter((name) => entries.get(name) === 'folder');
  const deeper = inside.flatMap((name) => {
    const found = readdirSync(`${asPath(path)}/${name}`, options);
    return options.withFileTypes ? found : found.map((one) => `${name}/${one as string}`);
  });
  return [...shown, ...deeper];
}

function about(what: string, path: Path): Kind {
  const at = asPath(path);
  const text = textAt(at);
  if (text !== undefined) return new Kind(at, 'file', Buffer.from(text).length);
  if (entriesIn(at)) return new Kind(at, 'folder', 0);
  throw missing(what, at);
}

type Stat = (path: Path, options?: { throwIfNoEntry?: boolean }) => Kind | undefined;

const statOf =
  (what: string): Stat =>
  (path, options) =>
    options?.throwIfNoEntry === false && !existsSync(path) ? undefined : about(what, path);
export const statSync = statOf('stat');
export const lstatSync = statOf('lstat');
export const accessSync = (path: Path): void => void about('access', path);
export const realpathSync = (path: Path): string => (about('realpath', path), asPath(path));

/** Answers as a promise, with what it throws as its failure. */
const later =
  <A extends unknown[], R>(now: (...args: A) => R) =>
  (...args: A): Promise<R> =>
    new Promise((resolve) => resolve(now(...args)));

export const promises = {
  readFile: later(readFileSync),
  readdir: later(readdirSync),
  stat: later(statSync),
  lstat: later(lstatSync),
  access: later(accessSync),
  realpath: later(realpathSync),
};
export const { readFile, readdir, stat, lstat, access, realpath } = promises;

export default {
  ...promises,
  existsSync,
  readFileSync,
  readdirSync,
  statSync,
  lstatSync,
  accessSync,
  realpathSync,
  promises,
};
