// What a person typed for a fork, as what the fork is asked with. Pure.
import type { Fault, SetValue } from '../../host/host';

/** `place` only for a value in a state. */
export type Edit = { what: 'output' | 'input' | 'set'; place: string; text: string };

const WORDS: Record<Edit['what'], string> = { output: 'output', input: 'input', set: 'state' };

/** Throws a Fault that names the value which is no JSON. */
export function forkOptions(edits: readonly Edit[]): { input?: unknown; output?: unknown; set: SetValue[] } {
  const options: { input?: unknown; output?: unknown; set: SetValue[] } = { set: [] };
  for (const { what, place, text } of edits) {
    const value = read(what === 'set' ? place : WORDS[what], text);
    if (what === 'set') options.set.push({ place: place.trim(), value });
    else options[what] = value;
  }
  return options;
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
