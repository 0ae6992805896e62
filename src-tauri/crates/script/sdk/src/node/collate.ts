// Comparing texts as people sort them: by letters, then by accents, then small letters before large ones.
//
// Must not: know languages. The order is that of Unicode's root, as far as accents and case go.

export interface Options {
  sensitivity?: 'base' | 'accent' | 'case' | 'variant';
  numeric?: boolean;
  ignorePunctuation?: boolean;
}

const isMark = /\p{M}+/gu;
const isNumber = /\d+/y;

/** Letters before what they are written with; punctuation before digits, and these before letters. */
function weigh(letter: string): number {
  const code = letter.codePointAt(0) as number;
  if (/[\p{L}]/u.test(letter)) return code + 0x400000;
  return /\p{N}/u.test(letter) ? code + 0x200000 : code;
}

function compareLetters(one: string, other: string, numeric: boolean): number {
  const [a, b] = [[...one], [...other]];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (numeric && /\d/.test(a[i] as string) && /\d/.test(b[j] as string)) {
      const [left, right] = [digitsAt(a, i), digitsAt(b, j)];
      const [x, y] = [left, right].map((digits) => digits.replace(/^0+(?=\d)/, '')) as [string, string];
      if (x.length !== y.length) return x.length < y.length ? -1 : 1;
      if (x !== y) return x < y ? -1 : 1;
      i += left.length;
      j += right.length;
      continue;
    }
    const [x, y] = [weigh(a[i++] as string), weigh(b[j++] as string)];
    if (x !== y) return x < y ? -1 : 1;
  }
  return Math.sign(a.length - i - (b.length - j));
}

function digitsAt(letters: string[], at: number): string {
  isNumber.lastIndex = 0;
  return isNumber.exec(letters.slice(at).join(''))?.[0] ?? '';
}

export function compare(one: string, other: string, options: Options = {}): number {
  const { sensitivity = 'variant', numeric = false } = options;
  const clean = (text: string) =>
    (options.ignorePunctuation ? text.replace(/[\p{P}\s]+/gu, '') : text).normalize('NFD');
  const [a, b] = [clean(one), clean(other)];
  if (a === b) return 0;
  const base = (text: string) => text.replace(isMark, '').toLowerCase();
  const byLetters = compareLetters(base(a), base(b), numeric);
  if (byLetters !== 0 || sensitivity === 'base') return byLetters;
  if (sensitivity !== 'case') {
    const marks = (text: string) => text.toLowerCase();
    const [x, y] = [marks(a), marks(b)];
    if (x !== y) return x < y ? -1 : 1;
    if (sensitivity === 'accent') return 0;
  }
  const plain = (text: string) => text.replace(isMark, '');
  const [x, y] = [plain(a), plain(b)];
  for (let at = 0; at < Math.min(x.length, y.length); at++) {
    const [p, q] = [x[at] as string, y[at] as string];
    // Small letters come first.
    if (p !== q && p.toLowerCase() === q.toLowerCase()) return p === p.toLowerCase() ? -1 : 1;
  }
  return 0;
}

Object.defineProperty(String.prototype, 'localeCompare', {
  value(this: string, other: unknown, _locales?: unknown, options?: Options): number {
    return compare(String(this), String(other), options);
  },
  writable: true,
  configurable: true,
});
