// Splits a line such as `sum, line.sku` into its expressions. Pure.

const OPEN = '([{';
const CLOSED = ')]}';

/** Splits at commas outside brackets and quotes. A text with unbalanced brackets is one expression. */
export function expressionsOf(text: string): string[] {
  const parts: string[] = [];
  let part = '';
  const open: string[] = [];
  let quote: string | null = null;
  for (let at = 0; at < text.length; at++) {
    const letter = text[at] ?? '';
    part += letter;
    if (quote !== null) {
      if (letter === '\\') part += text[++at] ?? '';
      else if (quote === '`' && letter === '$' && text[at + 1] === '{') {
        part += text[++at];
        open.push('`');
        quote = null;
      } else if (letter === quote) quote = null;
    } else if (letter === '"' || letter === "'" || letter === '`') quote = letter;
    else if (OPEN.includes(letter)) open.push(letter);
    else if (CLOSED.includes(letter)) {
      const opened = open.pop();
      if (opened === '`' && letter === '}') quote = '`';
      else if (opened === undefined || OPEN.indexOf(opened) !== CLOSED.indexOf(letter)) return whole(text);
    } else if (letter === ',' && open.length === 0) {
      parts.push(part.slice(0, -1));
      part = '';
    }
  }
  if (quote !== null || open.length > 0) return whole(text);
  const found = [...parts, part].map((one) => one.trim());
  // Pass a text with an empty part on unchanged, because the host explains the mistake.
  return found.some((one) => one === '') ? whole(text) : found;
}

const whole = (text: string): string[] => (text.trim() ? [text.trim()] : []);
