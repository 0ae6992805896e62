// What a person typed for a fork, as what the fork is asked with; and what was there before, which editors begin with.
// Pure.
import { pretty } from '../../base/json';
import { parsePath } from '../../base/path';
import { bytes } from '../../base/size';
import type { Fault, SetValue, StateView } from '../../host/host';

/** `place` only for a value in a state. `was` is the text that the editor began with: left like that it is no edit. */
export type Edit = { what: 'output' | 'input' | 'set'; place: string; text: string; was: string; note: string };

const WORDS: Record<Edit['what'], string> = { output: 'output', input: 'input', set: 'state' };
/** A longer text is no longer edited by hand. */
const MAX_CHARACTERS = 100_000;

export const newEdit = (what: Edit['what']): Edit => ({
  what,
  place: what === 'set' ? 'session.' : '',
  text: '',
  was: '',
  note: '',
});

/** Begins with what was there, unless something was typed meanwhile. `nothing` says that nothing was. */
export function beginWith(edit: Edit, value: unknown, nothing: string): void {
  const text = pretty(value);
  const isLarge = text.length > MAX_CHARACTERS;
  const note = isLarge ? `It is large (${bytes(text.length)}) and not shown here. What is typed takes its place.` : '';
  const isTyped = edit.text !== edit.was;
  edit.was = isLarge ? '' : text;
  edit.note = value === undefined ? nothing : note;
  if (!isTyped) edit.text = edit.was;
}

/** Whether an editor holds what it began with, however it is laid out. */
export function isUnchanged({ text, was }: Edit): boolean {
  if (text.trim() === was.trim()) return true;
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(JSON.parse(was));
  } catch {
    return false;
  }
}

/** Without what is unchanged. Throws a Fault that names the value which is no JSON. */
export function forkOptions(edits: readonly Edit[]): { input?: unknown; output?: unknown; set: SetValue[] } {
  const options: { input?: unknown; output?: unknown; set: SetValue[] } = { set: [] };
  for (const edit of edits) {
    if (isUnchanged(edit)) continue;
    const { what, place, text } = edit;
    const value = read(what === 'set' ? place : WORDS[what], text);
    if (what === 'set') options.set.push({ place: place.trim(), value });
    else options[what] = value;
  }
  return options;
}

/** What stands at a place such as `session.topic` or `sequencer[root/step:plan].steps[0]`; undefined: nothing does. */
export function valueAt(state: StateView, place: string): unknown {
  const [, scope = '', rest = ''] = /^(\w+)(.*)$/s.exec(place.trim()) ?? [];
  if (scope === 'sequencer' || scope === 'block') {
    const owner = bracketed(rest) ?? (scope === 'sequencer' ? { path: 'root', rest } : null);
    return owner ? below(ownState(state, owner.path), owner.rest) : undefined;
  }
  if (scope !== 'session' && scope !== 'user' && scope !== 'project' && scope !== 'request') return undefined;
  return below(state[scope], rest);
}

/** `[PATH]rest`; a path may hold brackets itself. */
function bracketed(text: string): { path: string; rest: string } | null {
  if (!text.startsWith('[')) return null;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    depth += text[at] === '[' ? 1 : text[at] === ']' ? -1 : 0;
    if (depth === 0) return { path: text.slice(1, at), rest: text.slice(at + 1) };
  }
  return null;
}

/** Of several executions of a path the newest counts. */
function ownState({ sequencers = {} }: StateView, path: string): unknown {
  const attempt = (id: string) => Number(id.slice(id.lastIndexOf(':') + 1));
  const isOfPath = (id: string) => id.slice(id.indexOf(':') + 1, id.lastIndexOf(':')) === path;
  const [newest] = Object.keys(sequencers)
    .filter(isOfPath)
    .sort((a, b) => attempt(b) - attempt(a));
  return newest === undefined ? undefined : sequencers[newest];
}

/** Nothing but a field of a state is a place: the state itself is none. */
function below(state: unknown, rest: string): unknown {
  const steps = parsePath(rest);
  if (steps.length === 0) return undefined;
  return steps.reduce<unknown>((value, step) => {
    const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, step);
    return isThere ? (value as Record<string | number, unknown>)[step] : undefined;
  }, state);
}

function read(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : 'not JSON';
    const message = `The value for ${name} is not JSON: ${why}. A text needs quotation marks.`;
    throw { kind: 'invalid', message, details: [] } satisfies Fault;
  }
}
