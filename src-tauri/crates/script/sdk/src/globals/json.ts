// `JSON.parse` and `JSON.stringify` with the messages that Node.js has for what they refuse.
//
// Must not change what they accept, or what they return.

const { parse, stringify } = JSON;

/** Characters of the text on either side of a token that a message shows. */
const AROUND = 10;
/** Texts that somebody made of a value by accident. */
const SPECIAL = ['undefined', 'NaN', 'Infinity', '[object Object]'];

class Refused {
  constructor(readonly message: string) {}
}

/** Reads a text only to find the first thing that is wrong with it. */
class Finder {
  private at = 0;

  constructor(private readonly text: string) {}

  find(): void {
    this.value();
    this.blanks();
    if (this.at < this.text.length) this.refuse('Unexpected non-whitespace character after JSON');
  }

  private refuse(what: string): never {
    throw new Refused(`${what}${what.includes(' after JSON') ? '' : ' in JSON'} at position ${this.at}`);
  }

  private blanks(): void {
    while (' \t\n\r'.includes(this.text[this.at] ?? 'x')) this.at += 1;
  }

  private peek(): string {
    this.blanks();
    return this.text[this.at] ?? this.ended();
  }

  private ended(): never {
    throw new Refused('Unexpected end of JSON input');
  }

  /** The token at this place begins nothing that may stand here. */
  private token(): never {
    const { text, at } = this;
    const found = text[at] ?? this.ended();
    if (SPECIAL.includes(text)) throw new Refused(`"${text}" is not valid JSON`);
    if (found === '"') this.refuse('Unexpected string');
    if (found === '-' || (found >= '0' && found <= '9')) this.refuse('Unexpected number');
    let shown = `"${text}"`;
    if (text.length > 2 * AROUND) {
      const [from, to] = [Math.max(0, at - AROUND), Math.min(text.length, at + AROUND)];
      const isEnd = at >= AROUND && at >= text.length - AROUND;
      shown = `${from > 0 || at >= AROUND ? '...' : ''}"${text.slice(from, isEnd ? text.length : to)}"${isEnd ? '' : '...'}`;
    }
    throw new Refused(`Unexpected token '${found}', ${shown} is not valid JSON`);
  }

  private value(): void {
    const first = this.peek();
    if (first === '{') this.object();
    else if (first === '[') this.list();
    else if (first === '"') this.string();
    else if (first === '-' || (first >= '0' && first <= '9')) this.number();
    else this.word({ t: 'true', f: 'false', n: 'null' }[first] ?? this.token());
  }

  private word(word: string): void {
    for (const letter of word) {
      if (this.text[this.at] !== letter) this.token();
      this.at += 1;
    }
  }

  private object(): void {
    this.at += 1;
    if (this.peek() === '}') {
      this.at += 1;
      return;
    }
    for (let isFirst = true; ; isFirst = false) {
      if (this.peek() !== '"') {
        this.refuse(isFirst ? "Expected property name or '}'" : 'Expected double-quoted property name');
      }
      this.string();
      if (this.peek() !== ':') this.refuse("Expected ':' after property name");
      this.at += 1;
      this.value();
      const next = this.peek();
      if (next !== ',' && next !== '}') this.refuse("Expected ',' or '}' after property value");
      this.at += 1;
      if (next === '}') return;
    }
  }

  private list(): void {
    this.at += 1;
    if (this.peek() === ']') {
      this.at += 1;
      return;
    }
    for (;;) {
      this.value();
      const next = this.peek();
      if (next !== ',' && next !== ']') this.refuse("Expected ',' or ']' after array element");
      this.at += 1;
      if (next === ']') return;
    }
  }

  private string(): void {
    for (this.at += 1; ; this.at += 1) {
      const found = this.text[this.at];
      if (found === undefined) this.refuse('Unterminated string');
      if (found < ' ') this.refuse('Bad control character in string literal');
      if (found === '"') break;
      if (found === '\\') this.escape();
    }
    this.at += 1;
  }

  private escape(): void {
    this.at += 1;
    const found = this.text[this.at];
    if (found === undefined) this.refuse('Unterminated string');
    if (found === 'u') {
      for (let n = 0; n < 4; n += 1) {
        this.at += 1;
        if (!/[0-9a-fA-F]/.test(this.text[this.at] ?? '')) this.refuse('Bad Unicode escape');
      }
    } else if (!'"\\/bfnrt'.includes(found)) this.refuse('Bad escaped character');
  }

  private digits(otherwise: string): void {
    const start = this.at;
    while (/[0-9]/.test(this.text[this.at] ?? '')) this.at += 1;
    if (this.at === start) this.refuse(otherwise);
  }

  private number(): void {
    if (this.text[this.at] === '-') this.at += 1;
    const start = this.at;
    this.digits('No number after minus sign');
    if (this.text[start] === '0' && this.at > start + 1) {
      this.at = start + 1;
      this.refuse('Unexpected number');
    }
    if (this.text[this.at] === '.') {
      this.at += 1;
      this.digits('Unterminated fractional number');
    }
    if (/[eE]/.test(this.text[this.at] ?? '')) {
      this.at += 1;
      if (/[+-]/.test(this.text[this.at] ?? '')) this.at += 1;
      this.digits('Exponent part is missing a number');
    }
  }
}

/** What Node says of a text that is no JSON; nothing where nothing is found. */
function wrongIn(text: string): string | undefined {
  try {
    new Finder(text).find();
    return undefined;
  } catch (error) {
    return error instanceof Refused ? error.message : undefined;
  }
}

const describe = (value: object) => {
  const name = (value as { constructor?: { name?: unknown } }).constructor?.name;
  return `object with constructor '${typeof name === 'string' ? name : 'Object'}'`;
};

/** What Node says of a value that contains itself: the way from the value back to it. */
function circleIn(value: unknown): string | undefined {
  const around: { key: string; value: object }[] = [];
  const seen = new Set<object>();
  const property = (list: unknown, key: string) => (Array.isArray(list) ? `index ${key}` : `property '${key}'`);
  const look = (key: string, found: unknown): string | undefined => {
    if (typeof found !== 'object' || found === null || typeof (found as { toJSON?: unknown }).toJSON === 'function')
      return;
    const begun = around.findIndex((one) => one.value === found);
    if (begun >= 0) {
      const circle = around.slice(begun);
      const line = (one: { key: string; value: object }, n: number) =>
        `\n    |     ${property(circle[n]?.value, one.key)} -> ${describe(one.value)}`;
      const inner = circle.slice(1).map(line);
      const shown = inner.length > 3 ? [...inner.slice(0, 2), '\n    |     ...', ...inner.slice(-1)] : inner;
      const closes = `\n    --- ${property(circle.at(-1)?.value, key)} closes the circle`;
      return `Converting circular structure to JSON\n    --> starting at ${describe(found)}${shown.join('')}${closes}`;
    }
    if (seen.has(found)) return;
    seen.add(found);
    around.push({ key, value: found });
    for (const inner of Object.keys(found)) {
      const told = look(inner, (found as Record<string, unknown>)[inner]);
      if (told !== undefined) return told;
    }
    around.pop();
    return;
  };
  return look('', value);
}

/** Gives an error other words, if there are any. */
function retold(error: unknown, tell: () => string | undefined): unknown {
  try {
    const told = error instanceof Error ? tell() : undefined;
    if (told !== undefined) (error as Error).message = told;
  } catch {
    // A getter or a proxy of the value may throw.
  }
  return error;
}

// Parameters without a rest: these are called often.
const named = {
  parse(text: string, reviver: never): unknown {
    try {
      return parse(text, reviver);
    } catch (error) {
      throw error instanceof SyntaxError ? retold(error, () => wrongIn(String(text))) : error;
    }
  },
  stringify(value: unknown, replacer: never, space: never): string {
    try {
      return stringify(value, replacer, space);
    } catch (error) {
      const said = error instanceof TypeError ? error.message : '';
      if (said === 'circular reference') throw retold(error, () => circleIn(value));
      if (said.startsWith('BigInt are forbidden')) throw retold(error, () => 'Do not know how to serialize a BigInt');
      throw error;
    }
  },
};

for (const name of ['parse', 'stringify'] as const) {
  Object.defineProperty(JSON, name, { value: named[name], writable: true, configurable: true, enumerable: false });
}
