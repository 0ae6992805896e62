// The text of a JSON file of settings with one place of it set. All other characters stay as they are, so that an edit
// changes the lines of that place and no others.
import { isRecord } from './json';
import { placesIn, type Entry, type Place } from './json-places';
import { valueAt, withValue, type Step } from './path';

/** What the text says; null where it is no JSON object. An empty file is one without settings. */
export function settingsIn(text: string): Record<string, unknown> | null {
  if (text.trim() === '') return {};
  try {
    const found: unknown = JSON.parse(text);
    return isRecord(found) ? found : null;
  } catch {
    return null;
  }
}

/** How the text is indented: by two blanks where it does not say. */
function indentOf(text: string): string {
  const [, indent] = /^\s*\{\s*?\n([ \t]+)"/.exec(text) ?? [];
  return indent ?? '  ';
}

/** Sets a place; `undefined` takes it away, with the objects around it that hold nothing else. A text that is no JSON
 *  object stays as it is: nothing of it could be kept. */
export function withSetting(text: string, path: readonly Step[], value: unknown): string {
  const before = settingsIn(text);
  if (before === null) return text;
  // An empty file is made anew.
  if (text.trim() === '' || path.length === 0)
    return `${JSON.stringify(withValue(before, path, value) ?? {}, null, '  ')}\n`;
  return value === undefined ? without(text, path) : put(text, path, value);
}

const replaced = (text: string, { from, to }: { from: number; to: number }, by: string) =>
  text.slice(0, from) + by + text.slice(to);

/** The entries on the way to a place, as far as there are any. Of equal names the last one counts. */
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
  // What is missing on the way, or is no object where there must be one.
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

/** A value in the place of another: in one line where that was. */
const written = (text: string, { from, to }: Place, value: unknown): string => {
  const old = text.slice(from, to);
  return /^[[{]/.test(old) && !/^.\s*.$/.test(old) && !old.includes('\n') ? compact(value) : pretty(text, from, value);
};

const newLine = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n');

/** The blanks before the line of a place. */
function indentAt(text: string, at: number): string {
  const begin = text.lastIndexOf('\n', at - 1) + 1;
  return /^[ \t]*/.exec(text.slice(begin, at))?.[0] ?? '';
}

const pretty = (text: string, at: number, value: unknown): string =>
  JSON.stringify(value, null, indentOf(text))
    .split('\n')
    .join(newLine(text) + indentAt(text, at));

/** `{ "input": 1, "output": 2 }`, as people write what is short. */
function compact(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(compact).join(', ')}]`;
  if (!isRecord(value)) return JSON.stringify(value);
  const entries = Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}: ${compact(one)}`);
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`;
}
