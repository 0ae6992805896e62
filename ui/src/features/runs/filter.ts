// Completion in the filter line of the runs. What a filter means and whether it is right is said by the host.
import { completionsIn, type Completion, type Completions } from '../../base/completion';
import { termsOf } from '../../base/day-terms';
import { REQUEST_STATUSES } from '../../model/status';

const TERMS: readonly Completion[] = [
  { text: 'status:', hint: 'failed, suspended, interrupted, …' },
  { text: 'flow:', hint: 'a flow, * for anything' },
  { text: 'action:', hint: 'an action' },
  { text: 'user:', hint: 'a user' },
  { text: 'session:', hint: 'a session' },
  { text: 'project:', hint: 'a project' },
  { text: 'tag:', hint: 'with this tag' },
  { text: 'dur>', hint: 'total time above, such as 250ms, 1s, 2m' },
  { text: 'dur<', hint: 'total time below' },
  { text: 'tokens>', hint: 'more tokens than' },
  { text: 'cost>', hint: 'more US dollars than' },
  { text: 'since:', hint: 'began since 24h, 7d, 2026-11-20 (local time)' },
  { text: 'until:', hint: 'began before' },
  { text: 'is:fork', hint: 'a fork' },
  { text: 'is:retry', hint: 'a retry' },
  { text: 'is:mock', hint: 'with mock models' },
  { text: 'is:trace', hint: 'a trace of another program' },
  { text: 'is:sample', hint: 'a sample of an experiment; left out otherwise' },
];

/** What a folder has of what can be asked for. */
export type Known = { flows: readonly string[]; users: readonly string[]; tags: readonly string[] };

/** A value of several words stands in quotes. */
const quoted = (value: string) => (/[\s"]/.test(value) ? `"${value.replaceAll('"', '')}"` : value);

export function completionsAt(known: Known, text: string, caret: number): Completions {
  const values = {
    'status:': REQUEST_STATUSES,
    'flow:': known.flows.map(quoted),
    'user:': known.users.map(quoted),
    'tag:': known.tags,
    'dur>': ['1s', '10s', '1m'],
    'dur<': ['20ms', '1s'],
    'tokens>': ['1000', '10000'],
    'cost>': ['0.01', '0.1', '1'],
    'since:': ['1h', '24h', '7d', '30d'],
    'until:': ['24h', '7d'],
  };
  return completionsIn({ terms: TERMS, values }, text, caret);
}

/** A term with a field, such as `status:failed` or `dur>1s`; what stands in quotes names none. */
const WITH_FIELD = /^[^"]*?[:<>=]/;

/** The text that a filter looks for, without its fields and what it leaves out. */
export const textIn = (filter: string): string =>
  termsOf(filter)
    .filter((term) => !term.startsWith('-') && !WITH_FIELD.test(term))
    .map((term) => term.replaceAll('"', ''))
    .join(' ')
    .trim();
