// Paths into a JSON value, written as people write them: `plan[2].title`. The empty path is the whole value. They are
// compared with paths of the engine as texts, so that both write a path the same way.

export type Step = string | number;

export function parsePath(path: string): Step[] {
  // Validators also write JSON pointers; both spellings mean the same place.
  if (path.startsWith('/')) {
    return path
      .slice(1)
      .split('/')
      .map((part) => step(part.replaceAll('~1', '/').replaceAll('~0', '~')));
  }
  const steps: Step[] = [];
  for (const match of path.matchAll(/\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|([^.[\]]+)/g)) {
    if (match[1] !== undefined) steps.push(Number(match[1]));
    else if (match[2] !== undefined) steps.push(JSON.parse(`"${match[2]}"`) as string);
    else steps.push(step(match[3] ?? ''));
  }
  return steps;
}

/** A name that needs no quotes; `field` in the engine's `views/diff.rs` has the same rule. */
const PLAIN = /^(?![0-9])[\p{Alphabetic}\p{N}_$-]+$/u;

export function formatPath(steps: readonly Step[]): string {
  let text = '';
  for (const one of steps) {
    if (typeof one === 'number') text += `[${one}]`;
    else if (PLAIN.test(one)) text += text ? `.${one}` : one;
    else text += `[${JSON.stringify(one)}]`;
  }
  return text;
}

export function child(path: string, one: Step): string {
  return path + (typeof one === 'number' || !path || !PLAIN.test(one) ? formatPath([one]) : `.${one}`);
}

/** A copy of `root` with `value` at `steps`; `undefined` takes the place away. Nothing is changed in place. */
export function withValue(root: unknown, steps: readonly Step[], value: unknown): unknown {
  const [head, ...rest] = steps;
  if (head === undefined) return value;
  if (typeof head === 'number') {
    const list = Array.isArray(root) ? [...root] : [];
    if (rest.length === 0 && value === undefined) list.splice(head, 1);
    else list[head] = withValue(list[head], rest, value);
    return list;
  }
  const record: Record<string, unknown> = root && typeof root === 'object' && !Array.isArray(root) ? { ...root } : {};
  const next = withValue(record[head], rest, value);
  if (next === undefined) delete record[head];
  else record[head] = next;
  return record;
}

const step = (part: string): Step => (/^(0|[1-9]\d*)$/.test(part) ? Number(part) : part);

/** What is at a place of a value; undefined where nothing is. */
export function valueAt(value: unknown, path: string | readonly Step[]): unknown {
  let found = value;
  for (const step of typeof path === 'string' ? parsePath(path) : path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return undefined;
    if (Array.isArray(found) && typeof step !== 'number') return undefined;
    found = (found as Record<string | number, unknown>)[step];
  }
  return found;
}
