// The input that is being written: one value behind the form and the raw JSON beside it, and what is wrong with it.
// It sends nothing.
import { pretty } from '../../base/json';
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
  #unread: ReadonlyMap<string, string> = $state.raw(new Map());

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
    return [...this.#checked.problems, ...[...this.#unread].map(([path, message]) => ({ path, message }))];
  }

  get text(): string {
    return this.#raw ?? pretty(this.value);
  }

  /** The raw editor keeps what was typed, to the space; the form follows as soon as it is JSON. */
  type(text: string): void {
    this.#raw = text;
    this.#unread = new Map();
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
    this.unread(path, null);
  }

  /** Another value in place of all of it. */
  put(value: unknown): void {
    this.value = value;
    this.#raw = null;
    this.rawProblem = null;
    this.#refused = [];
    this.#unread = new Map();
  }

  unread(path: readonly Step[], message: string | null): void {
    const next = new Map(this.#unread);
    if (message === null) next.delete(formatPath(path));
    else next.set(formatPath(path), message);
    this.#unread = next;
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

function collect(field: Field, path: string, known: Set<string>): void {
  if (path) known.add(path);
  else if (field.kind !== 'group') known.add('');
  for (const { name, field: inner } of field.fields ?? []) collect(inner, path ? `${path}.${name}` : name, known);
  if (field.kind === 'list' && field.each) collect(field.each, `${path}[]`, known);
}
