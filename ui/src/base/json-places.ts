// Where the values of a JSON text are in it, so that one of them can be written anew and the rest stays as it is. The
// text must be JSON: whoever asks has parsed it.

export type Entry = { key: string; from: number; value: Place };
export type Place = {
  from: number;
  to: number;
  /** Of an object, its entries in their order; null for anything else. */
  entries: Entry[] | null;
};

export function placesIn(text: string): Place {
  let at = 0;
  const skip = () => {
    while (/[\s,:]/.test(text[at] ?? '')) at++;
  };
  const string = () => {
    const from = at++;
    while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
    at++;
    return from;
  };

  function value(): Place {
    skip();
    const from = at;
    const opener = text[at];
    if (opener === '"') return { from: string(), to: at, entries: null };
    if (opener !== '{' && opener !== '[') {
      while (at < text.length && !/[\s,\]}]/.test(text[at] ?? '')) at++;
      return { from, to: at, entries: null };
    }
    at++;
    const entries: Entry[] = [];
    for (skip(); at < text.length && text[at] !== '}' && text[at] !== ']'; skip()) {
      if (opener === '[') {
        value();
        continue;
      }
      const keyFrom = string();
      const key = JSON.parse(text.slice(keyFrom, at)) as string;
      entries.push({ key, from: keyFrom, value: value() });
    }
    at++;
    return { from, to: at, entries: opener === '{' ? entries : null };
  }

  return value();
}
