// The text of a JSON file of settings with one place of it set. Its indentation stays, so that an edit changes the lines
// of that place and no others, as far as the file is laid out the usual way.
import { isRecord } from './json';
import { withValue, type Step } from './path';

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

/** Sets a place; `undefined` takes it away, with the objects around it that hold nothing else. */
export function withSetting(text: string, path: readonly Step[], value: unknown): string {
  const before = settingsIn(text) ?? {};
  let after = withValue(before, path, value);
  if (value !== undefined) return written(text, after);
  for (let length = path.length - 1; length > 0; length--) {
    const around = path.slice(0, length);
    const left = at(after, around);
    if (!isRecord(left) || Object.keys(left).length > 0) break;
    after = withValue(after, around, undefined);
  }
  return written(text, after);
}

const written = (before: string, after: unknown): string => `${JSON.stringify(after ?? {}, null, indentOf(before))}\n`;

function at(value: unknown, path: readonly Step[]): unknown {
  return path.reduce<unknown>((found, one) => (isRecord(found) ? found[String(one)] : undefined), value);
}
