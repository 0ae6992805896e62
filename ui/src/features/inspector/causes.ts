// The causes of an error and the errors that it gathers, from its details.

interface Cause {
  /** How deep below the error. */
  depth: number;
  /** "caused by" or "error". */
  word: string;
  text: string;
}

/** The longest chain that is shown. */
const MOST = 20;

type Told = { name?: unknown; message?: unknown; code?: unknown; cause?: unknown; errors?: unknown };

/** Returns the chain, outermost first. */
export function causes(details: unknown): Cause[] {
  const found: Cause[] = [];
  const add = (word: string, told: unknown, depth: number) => {
    const { name, message, code } = (told ?? {}) as Told;
    if (typeof message !== 'string' || found.length >= MOST) return;
    const coded = typeof code === 'string' ? ` (${code})` : '';
    found.push({ depth, word, text: `${typeof name === 'string' ? name : 'Error'}${coded}: ${message}` });
    look(told, depth + 1);
  };
  const look = (told: unknown, depth: number) => {
    const { cause, errors } = (told ?? {}) as Told;
    if (Array.isArray(errors)) errors.forEach((one) => add('error', one, depth));
    add('caused by', cause, depth);
  };
  look(details, 0);
  return found;
}
