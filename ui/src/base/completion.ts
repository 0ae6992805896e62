// Completion in a box for a filter. What a filter means, and whether it is right, is said by what filters; this only
// offers words.

export type Completion = { text: string; hint: string };
export type Completions = { from: number; to: number; options: Completion[] };
/** The terms of a language, and for those that name a field the values that it may have. */
export type Language = { terms: readonly Completion[]; values: Record<string, readonly string[]> };

/** What may stand where the caret is; nothing inside quotes, where anything may, but the values of a field. */
export function completionsIn({ terms, values }: Language, text: string, caret: number): Completions {
  const before = text.slice(0, caret);
  const none = { from: caret, to: caret, options: [] };
  // Blanks in quotes end no term.
  let [start, isQuoted] = [0, false];
  for (const [at, letter] of before.split('').entries()) {
    if (letter === '"') isQuoted = !isQuoted;
    else if (letter === ' ' && !isQuoted) start = at + 1;
  }
  const sign = before[start] === '-' ? 1 : 0;
  const word = before.slice(start + sign);
  const after = text.slice(caret);
  const to = caret + (/^[^"]*"?/.exec(isQuoted ? after : '')?.[0] || (/^\S*/.exec(after)?.[0] ?? '')).length;
  const name = Object.keys(values).find((one) => word.startsWith(one));
  if (name) {
    const given = word.slice(name.length);
    // A value of several words stands in quotes, and is looked for with them or without.
    const isFor = (value: string) => value !== given && (value.startsWith(given) || value.startsWith(`"${given}`));
    const options = values[name]?.filter(isFor) ?? [];
    return { from: start + sign + name.length, to, options: options.map((value) => ({ text: value, hint: '' })) };
  }
  if (isQuoted) return none;
  const options = terms.filter((term) => term.text.startsWith(word) && term.text !== word);
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
