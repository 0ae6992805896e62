// Sets one value in the text of a JSON settings file. All other characters stay, so that an edit changes only the lines
// of that value.
import { isRecord } from './json';
import { placesIn, type Entry, type Place } from './json-places';
import { valueAt, withValue, type Step } from './path';

/** Parses the settings; null if the text is not a JSON object. An empty file has no settings. */
export function settingsIn(text: string): Record<string, unknown> | null {
  if (text.trim() === '') return {};
  try {
    const found: unknown = JSON.parse(text);
    return isRecord(found) ? found : null;
  } catch {
    return null;
  }
}

/** The indentation of the text; two spaces by default. */
function indentOf(text: string): string {
  const [, indent] = /^\s*\{\s*?\n([ \t]+)"/.exec(text) ?? [];
  return indent ?? '  ';
}

/** Sets a value; `undefined` removes it, with enclosing objects that become empty. A text that is not a JSON
 *  object is returned unchanged, because its content could not be preserved. */
export function withSetting(text: string, path: readonly Step[], value: unknown): string {
  const before = settingsIn(text);
  if (before === null) return text;
  // Write an empty file from scratch.
  if (text.trim() === '' || path.length === 0)
    return `${JSON.stringify(withValue(before, path, value) ?? {}, null, '  ')}\n`;
  return value === undefined ? without(text, path) : put(text, path, value);
}

const replaced = (text: string, { from, to }: { from: number; to: number }, by: string) =>
  text.slice(0, from) + by + text.slice(to);

/** The existing entries on the path to a value. Of equal names the last one counts. */
function wayTo(root: Place, path: readonly Step[]): Entry[] {
  const way: Entry[] = [];
  let place: Place | undefined = root;
  for (const step of path) {
    const entry: Entry | undefined = place.entries?.findLast(({ key }) => key === String(step));
    if (!entry) break;
    way.push(entry);
    place = entry.value;
  }
  return way;
}

function put(text: string, path: readonly Step[], value: unknown): string {
  const root = placesIn(text);
  const way = wayTo(root, path);
  const last = way[way.length - 1]?.value ?? root;
  const rest = path.slice(way.length);
  // The value replaces an existing one, or a parent that is not an object.
  const [name, ...inner] = rest;
  if (name === undefined || last.entries === null)
    return replaced(text, last, written(text, last, rest.length === 0 ? value : withValue({}, rest, value)));
  const added = inner.length === 0 ? value : withValue({}, inner, value);
  const end = last.entries[last.entries.length - 1];
  if (!end) return replaced(text, last, pretty(text, last.from, { [name]: added }));
  const isInOneLine = !text.slice(last.from, last.to).includes('\n') && last !== root;
  const key = `${JSON.stringify(String(name))}: `;
  const lead = isInOneLine ? ', ' : `,${newLine(text)}${indentAt(text, end.from)}`;
  const said = isInOneLine ? compact(added) : pretty(text, end.from, added);
  return replaced(text, { from: end.value.to, to: end.value.to }, lead + key + said);
}

function without(text: string, path: readonly Step[]): string {
  for (let left = text; ;) {
    if (valueAt(settingsIn(left) ?? {}, path) === undefined) return left;
    const root = placesIn(left);
    const around = [root, ...wayTo(root, path).map((entry) => entry.value)];
    let depth = path.length;
    while (depth > 1 && around[depth - 1]?.entries?.length === 1) depth--;
    const entries = around[depth - 1]?.entries ?? [];
    const at = entries.findLastIndex(({ key }) => key === String(path[depth - 1]));
    const [before, entry, after] = [entries[at - 1], entries[at], entries[at + 1]];
    if (!entry) return left;
    if (before) left = replaced(left, { from: before.value.to, to: entry.value.to }, '');
    else if (after) left = replaced(left, { from: entry.from, to: after.from }, '');
    else left = replaced(left, root, '{}');
  }
}

/** A value that replaces another, on one line if the old one was. */
const written = (text: string, { from, to }: Place, value: unknown): string => {
  const old = text.slice(from, to);
  return /^[[{]/.test(old) && !/^.\s*.$/.test(old) && !old.includes('\n') ? compact(value) : pretty(text, from, value);
};

const newLine = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n');

/** The indentation of the line at a position. */
function indentAt(text: string, at: number): string {
  const begin = text.lastIndexOf('\n', at - 1) + 1;
  return /^[ \t]*/.exec(text.slice(begin, at))?.[0] ?? '';
}

const pretty = (text: string, at: number, value: unknown): string =>
  JSON.stringify(value, null, indentOf(text))
    .split('\n')
    .join(newLine(text) + indentAt(text, at));

/** A value on one line: `{ "input": 1, "output": 2 }`. */
function compact(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(compact).join(', ')}]`;
  if (!isRecord(value)) return JSON.stringify(value);
  const entries = Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}: ${compact(one)}`);
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`;
}
