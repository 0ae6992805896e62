// Texts of a project's files. The bundler puts those that a flow names into the bundle, so a run that goes on elsewhere
// has them, too.
//
// Must not: read anything. What was not put there is not there.

import { describeValue } from './arguments';
import { currentToken, native } from './host';

/** The texts by their paths in the workspace. */
const texts = new Map<string, string>();
/** The folders of the modules that name them. */
const folders = new Set<string>();

/** Called by the bundle, before the module in `folder` runs. */
export function keepTexts(folder: string, given: Record<string, string>): void {
  folders.add(folder);
  for (const [path, text] of Object.entries(given)) texts.set(path, text);
}

function normal(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts.join('/');
}

/** What an absolute path is from the workspace's folder: modules lie there as if it were the root. */
export function fromRoot(path: string): string {
  const { cwd } = JSON.parse(native.sync('process', currentToken(), '') as string) as { cwd: string };
  return normal(path === cwd || path.startsWith(`${cwd}/`) ? path.slice(cwd.length) : path);
}

/** The folder of a module by its `import.meta.url`, as an absolute path; `undefined` where that is not one. */
export function folderOfModule(url: unknown): string | undefined {
  if (typeof url !== 'string' || !url.startsWith('file:///')) return undefined;
  const path = decodeURIComponent(url.slice('file://'.length));
  return path.slice(0, path.lastIndexOf('/') + 1);
}

/** A path as an author writes it, or with the module that it is meant from. */
export type TextPath = string | { path: string; importerUrl?: string };

/** Where a text is: beside the module that is said, or any that names it; or from the workspace's folder. */
export function findText(given: TextPath, what: string): { path: string; text: string } | undefined {
  const { path, importerUrl } = typeof given === 'object' && given !== null ? given : { path: given };
  if (typeof path !== 'string' || path === '') {
    throw new TypeError(`${what} must be the path of a file, like "./notes.md", got ${describeValue(path)}`);
  }
  const whole = path.replace(/^file:\/\//, '');
  const beside = folderOfModule(importerUrl);
  const absolute = whole.startsWith('/') ? fromRoot(whole) : beside && normal(`${beside}${whole}`);
  const text = absolute === undefined ? undefined : texts.get(absolute);
  if (absolute !== undefined && text !== undefined) return { path: absolute, text };
  const candidates = whole.startsWith('/')
    ? [...texts.keys()].filter((known) => whole.endsWith(`/${known}`))
    : [...[...folders].map((folder) => normal(`${folder}/${whole}`)), normal(whole)];
  const found = [...new Set(candidates)].filter((candidate) => texts.has(candidate));
  if (found.length > 1) {
    throw new Error(`${what}: "${path}" may be ${found.join(' or ')}; write the path from the workspace's folder`);
  }
  const [one] = found;
  return one === undefined ? undefined : { path: one, text: texts.get(one) as string };
}

/** The text at a path from the workspace's folder, which is the root of what a flow sees of files. */
export function textAt(path: string): string | undefined {
  return texts.get(normal(path));
}

/** What lies in a folder, by name; nothing where there is no such folder. */
export function entriesIn(path: string): Map<string, 'file' | 'folder'> | undefined {
  const folder = normal(path);
  const within = folder === '' ? '' : `${folder}/`;
  const found = new Map<string, 'file' | 'folder'>();
  for (const known of texts.keys()) {
    if (!known.startsWith(within)) continue;
    const [name, ...rest] = known.slice(within.length).split('/') as [string, ...string[]];
    found.set(name, rest.length > 0 ? 'folder' : 'file');
  }
  return found.size > 0 ? found : undefined;
}

/** The texts beside one of them that end with `.md`, by name without the ending. */
export function textsBeside(path: string, folder = path.slice(0, path.lastIndexOf('/') + 1)): Record<string, string> {
  const within = folder === '' || folder.endsWith('/') ? folder : `${folder}/`;
  const beside = [...texts].filter(
    ([other]) => other !== path && other.startsWith(within) && /^[^/]+\.md$/.test(other.slice(within.length)),
  );
  return Object.fromEntries(beside.map(([other, text]) => [other.slice(within.length, -'.md'.length), text]));
}

/** The folder of texts that a path means, as `findText` would. */
export function folderOf(given: string): string {
  const known = [...texts.keys()];
  const candidates = given.startsWith('/')
    ? [
        fromRoot(given),
        ...known.map((path) => path.slice(0, path.lastIndexOf('/'))).filter((one) => given.endsWith(`/${one}`)),
      ]
    : [...[...folders].map((folder) => normal(`${folder}/${given}`)), normal(given)];
  const holds = (folder: string) => known.some((path) => folder === '' || path.startsWith(`${folder}/`));
  return candidates.find(holds) ?? candidates[0] ?? normal(given);
}
