// Completion in the filter box. What a filter means and whether it is right is said by the view; this only offers words.

export type Completion = { text: string; hint: string };
export type Completions = { from: number; to: number; options: Completion[] };

const TERMS: readonly Completion[] = [
  { text: 'kind:', hint: 'handler, sequencer, router, generator, hook' },
  { text: 'status:', hint: 'running, completed, failed, suspended, abandoned' },
  { text: 'name:', hint: 'in the name of the block' },
  { text: 'path:', hint: 'a path, * for anything' },
  { text: 'dur>', hint: 'longer than 250ms, 1s, 2m' },
  { text: 'dur<', hint: 'shorter than' },
  { text: 'attempt>0', hint: 'executed again' },
  { text: 'writes>0', hint: 'wrote state' },
  { text: 'writes:', hint: 'wrote a scope or path: session.plan' },
  { text: 'items>0', hint: 'emitted items' },
  { text: 'tokens>', hint: 'asked models for more than' },
];
const VALUES: Record<string, readonly string[]> = {
  'kind:': ['handler', 'sequencer', 'router', 'generator', 'hook'],
  'status:': ['failed', 'returned_error', 'timed_out', 'running', 'suspended', 'completed', 'abandoned'],
  'dur>': ['100ms', '1s', '10s', '1m'],
  'dur<': ['1ms', '20ms', '1s'],
  'tokens>': ['100', '1000', '10000'],
};

/** What may stand where the caret is; nothing inside quotes, where anything may. */
export function completionsAt(text: string, caret: number): Completions {
  const before = text.slice(0, caret);
  const none = { from: caret, to: caret, options: [] };
  if ((before.match(/"/g)?.length ?? 0) % 2 === 1) return none;
  const start = before.lastIndexOf(' ') + 1;
  const sign = before[start] === '-' ? 1 : 0;
  const word = before.slice(start + sign);
  const end = text.indexOf(' ', caret);
  const to = end < 0 ? text.length : end;
  const name = Object.keys(VALUES).find((one) => word.startsWith(one));
  if (name) {
    const given = word.slice(name.length);
    const options = VALUES[name]?.filter((value) => value.startsWith(given) && value !== given) ?? [];
    return { from: start + sign + name.length, to, options: options.map((value) => ({ text: value, hint: '' })) };
  }
  const options = TERMS.filter((term) => term.text.startsWith(word) && term.text !== word);
  return { from: start + sign, to, options };
}

/** The text with a completion put in, and where the caret goes. A finished term is followed by a space. */
export function completed(
  text: string,
  { from, to }: Completions,
  option: Completion,
): { text: string; caret: number } {
  const isOpen = /[:<>]$/.test(option.text);
  const rest = text.slice(to);
  const added = option.text + (isOpen || rest.startsWith(' ') ? '' : ' ');
  return { text: text.slice(0, from) + added + rest, caret: from + added.length };
}
