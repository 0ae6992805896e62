// The filter language of a view, for the recording: terms that all must hold, `-` in front of one that must not.
// What the Rust side says about a wrong term is said here in the same form: where, and what would be right.
import type { BlockRow, Fault } from './host';

export type Filter = (block: BlockRow) => boolean;

const KINDS = ['handler', 'sequencer', 'router', 'generator'];
const STATUSES = ['running', 'completed', 'failed', 'suspended', 'abandoned'];
const UNITS: Record<string, number> = { '': 1, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const NUMBERS: Record<string, (block: BlockRow) => number> = {
  dur: (block) => block.durationMs ?? 0,
  attempt: (block) => block.attempt,
  items: (block) => block.items,
  writes: (block) => block.changes,
  tokens: () => 0,
};

function invalid(at: number, message: string): Fault {
  return { kind: 'invalid', message, details: [{ path: String(at), message }] };
}

/** Throws a Fault that names the column. */
export function parseFilter(text: string): Filter {
  const terms: Filter[] = [];
  for (const match of text.matchAll(/-?(?:[a-z]+[:<>=]+)?(?:"[^"]*"?|[^\s"]+)+/gi)) {
    const negated = match[0].startsWith('-') && match[0].length > 1;
    const term = termOf(negated ? match[0].slice(1) : match[0], match.index + (negated ? 1 : 0));
    terms.push(negated ? (block) => !term(block) : term);
  }
  return (block) => terms.every((term) => term(block));
}

function termOf(text: string, at: number): Filter {
  if (text.includes('"') && (text.match(/"/g)?.length ?? 0) % 2 === 1)
    throw invalid(
      at + text.indexOf('"'),
      `The text that begins at column ${at + text.indexOf('"') + 1} has no end: put a " after it.`,
    );
  const number = /^([a-z]+)(<=|>=|<|>|=)(.*)$/i.exec(text);
  if (number) return compareTerm(number[1] ?? '', number[2] ?? '', number[3] ?? '', at);
  const named = /^([a-z]+):(.*)$/i.exec(text);
  if (named) return namedTerm(named[1] ?? '', unquote(named[2] ?? ''), at);
  const wanted = unquote(text).toLowerCase();
  return (block) => `${block.name}\n${block.path}`.toLowerCase().includes(wanted);
}

function compareTerm(name: string, operator: string, given: string, at: number): Filter {
  const value = NUMBERS[name];
  if (!value)
    throw invalid(at, `There is no "${name}" to compare at column ${at + 1}: ${Object.keys(NUMBERS).join(', ')}.`);
  const parts = /^(\d+(?:\.\d+)?)(ms|s|m|h|)$/.exec(given);
  const column = at + name.length + operator.length;
  if (!parts || (name !== 'dur' && parts[2]))
    throw invalid(
      column,
      `"${given}" at column ${column + 1} is no ${name === 'dur' ? 'duration: write 250ms, 1.5s or 2m' : 'number'}.`,
    );
  const limit = Number(parts[1]) * (UNITS[parts[2] ?? ''] ?? 1);
  return (block) => {
    const found = value(block);
    if (operator === '<') return found < limit;
    if (operator === '<=') return found <= limit;
    if (operator === '>') return found > limit;
    return operator === '>=' ? found >= limit : found === limit;
  };
}

function namedTerm(name: string, value: string, at: number): Filter {
  const column = at + name.length + 2;
  const oneOf = (all: readonly string[]) => {
    if (!all.includes(value))
      throw invalid(column - 1, `There is no ${name} "${value}" (column ${column}): ${all.join(', ')}.`);
  };
  if (name === 'kind') oneOf(KINDS);
  if (name === 'status') oneOf(STATUSES);
  const lower = value.toLowerCase();
  if (name === 'kind') return (block) => block.kind === value;
  if (name === 'status') return (block) => block.status === value;
  if (name === 'name') return (block) => block.name.toLowerCase().includes(lower);
  if (name === 'writes') return (block) => block.changes > 0;
  if (name === 'path') {
    const pattern = new RegExp(
      `^${value
        .split('*')
        .map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
        .join('.*')}$`,
    );
    return (block) => pattern.test(block.path);
  }
  throw invalid(
    at,
    `There is no "${name}:" (column ${at + 1}): kind, status, name, path, writes, or dur> and its like.`,
  );
}

const unquote = (text: string) => text.replaceAll('"', '');
