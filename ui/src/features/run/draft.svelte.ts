// The input that is being written: one value behind the form and the raw JSON beside it, and what is wrong with it.
// It sends nothing.
import { isRecord, pretty } from '../../base/json';
import { formatPath, withValue, type Step } from '../../base/path';
import { check, samePath, startOf, type Problem } from './check';
import type { Field } from './schema';

export class Draft {
  value: unknown = $state.raw(undefined);
  /** Whether somebody tried to run it: from then on every problem is shown, not only those of visited fields. */
  tried = $state(false);
  /** What is wrong with the text of the raw editor, while it is not JSON. */
  rawProblem: string | null = $state(null);

  #raw: string | null = $state(null);
  #visited: ReadonlySet<string> = $state.raw(new Set());
  #refused: Problem[] = $state.raw([]);
  /** JSON fields whose text is not JSON yet; it would be lost if the value were sent. */
  #unread: readonly Unread[] = $state.raw([]);

  readonly field: Field;
  #checked: { value: unknown; problems: Problem[] } | null = null;

  constructor(field: Field, value: unknown = startOf(field)) {
    this.field = field;
    this.value = value;
  }

  /** Remembered by hand: a draft outlives the form that shows it, and a derived value does not outlive its component. */
  get problems(): Problem[] {
    const { value } = this;
    if (!this.#checked || this.#checked.value !== value) this.#checked = { value, problems: check(this.field, value) };
    return [
      ...this.#checked.problems,
      ...this.#unread.map(({ path, message }) => ({ path: formatPath(path), message })),
    ];
  }

  get text(): string {
    return this.#raw ?? pretty(this.value);
  }

  /** The raw editor keeps what was typed, to the space; the form follows as soon as it is JSON. */
  type(text: string): void {
    this.#raw = text;
    this.#unread = [];
    try {
      this.value = text.trim() === '' ? undefined : JSON.parse(text);
      this.rawProblem = null;
      this.#refused = [];
    } catch (thrown) {
      this.rawProblem = thrown instanceof Error ? thrown.message : 'This is not JSON.';
    }
  }

  at(path: readonly Step[]): unknown {
    let value = this.value;
    for (const step of path) value = (value as Record<string, unknown> | null | undefined)?.[step as string];
    return value;
  }

  set(path: readonly Step[], value: unknown): void {
    const text = formatPath(path);
    this.value = withValue(this.value, path, value);
    this.#raw = null;
    this.rawProblem = null;
    this.#refused = this.#refused.filter((problem) => problem.path !== text);
    // Text of a field that the form no longer has would be a problem that nobody can mend.
    this.#unread = this.#unread.filter(
      (one) => formatPath(one.path) !== text && isShown(this.field, this.value, one.path),
    );
  }

  /** Takes an entry out of a list: what belongs to the entries after it moves up with them. */
  remove(path: readonly Step[]): void {
    const at = path.length - 1;
    const gone = Number(path[at]);
    const list = formatPath(path.slice(0, at));
    const entry = (one: readonly Step[]) =>
      one.length > at && typeof one[at] === 'number' && formatPath(one.slice(0, at)) === list ? one[at] : null;
    const moved = this.#unread.flatMap((one) => {
      const index = entry(one.path);
      if (index === null || index < gone) return [one];
      return index === gone ? [] : [{ ...one, path: one.path.with(at, index - 1) }];
    });
    this.#visited = new Set();
    this.#refused = [];
    this.set(path, undefined);
    this.#unread = moved;
  }

  /** Another value in place of all of it. */
  put(value: unknown): void {
    this.value = value;
    this.#raw = null;
    this.rawProblem = null;
    this.#refused = [];
    this.#unread = [];
  }

  /** Keeps the text of a field that is not JSON, with the reason. */
  unread(path: readonly Step[], text: string, message: string): void {
    const known = formatPath(path);
    this.#unread = [
      ...this.#unread.filter((one) => formatPath(one.path) !== known),
      { path: [...path], text, message },
    ];
  }

  /** The text of a field that is not JSON yet; null where the value is shown. */
  unreadAt(path: readonly Step[]): string | null {
    const known = formatPath(path);
    return this.#unread.find((one) => formatPath(one.path) === known)?.text ?? null;
  }

  visit(path: readonly Step[]): void {
    this.#visited = new Set(this.#visited).add(formatPath(path));
  }

  /** The engine's word on the input, field by field. */
  refuse(problems: readonly Problem[]): void {
    this.#refused = problems.map(({ path, message }) => ({ path: samePath(path), message }));
  }

  /** What to say at one field: nothing before it was visited, so that an empty form is not red all over. */
  said(path: readonly Step[]): string[] {
    const text = formatPath(path);
    const own = this.tried || this.#visited.has(text) ? this.problems : [];
    return [...own, ...this.#refused].filter((problem) => problem.path === text).map((problem) => problem.message);
  }

  /** The engine's messages that belong to no field of the form. */
  strays(): Problem[] {
    const known = new Set<string>();
    collect(this.field, '', known);
    return this.#refused.filter((problem) => !known.has(problem.path.replace(/\[\d+\]/g, '[]')));
  }
}

type Unread = { path: Step[]; text: string; message: string };

/** Whether the form has a field at a path. */
function isShown(field: Field, value: unknown, [head, ...rest]: readonly Step[]): boolean {
  if (head === undefined) return true;
  if (field.kind === 'list')
    return (
      !!field.each &&
      Array.isArray(value) &&
      Number(head) < value.length &&
      isShown(field.each, value[Number(head)], rest)
    );
  const inner = isRecord(value) ? value[head] : undefined;
  if (field.kind === 'record')
    return !!field.each && isRecord(value) && head in value && isShown(field.each, inner, rest);
  const one = field.fields?.find(({ name }) => name === head)?.field;
  if (!one || (rest.length > 0 && inner === undefined && !one.required)) return false;
  return isShown(one, inner, rest);
}

function collect(field: Field, path: string, known: Set<string>): void {
  if (path) known.add(path);
  else if (field.kind !== 'group') known.add('');
  for (const { name, field: inner } of field.fields ?? []) collect(inner, path ? `${path}.${name}` : name, known);
  if (field.kind === 'list' && field.each) collect(field.each, `${path}[]`, known);
}
