// The words of TypeScript source by what they are, line by line, so that a source can be shown in its own hues.
// It reads no grammar: what is neither a comment, a text, a number nor a known word is plain.

export type Piece = { text: string; is: 'plain' | 'note' | 'text' | 'number' | 'word' };

const WORDS = new Set(
  `as async await break case catch class const continue default delete do else enum export extends false finally for
  from function if implements import in instanceof interface let new null of return satisfies static super switch this
  throw true try type typeof undefined var void while yield`.split(/\s+/),
);
const NOTE = String.raw`//[^\n]*|/\*[^]*?(?:\*/|$)`;
const TEXT = String.raw`'(?:[^'\\\n]|\\.)*'?|"(?:[^"\\\n]|\\.)*"?|` + '`(?:[^`\\\\]|\\\\[^])*`?';
const PART = new RegExp(
  String.raw`(?<note>${NOTE})|(?<text>${TEXT})|(?<number>\b\d[\w.]*)|(?<name>[A-Za-z_$][\w$]*)`,
  'g',
);

/** The lines of a source, each as its pieces. */
export function highlight(source: string): Piece[][] {
  const lines: Piece[][] = [[]];
  const add = (text: string, is: Piece['is']) => {
    text.split('\n').forEach((part, n) => {
      if (n > 0) lines.push([]);
      const line = lines[lines.length - 1] ?? [];
      const last = line[line.length - 1];
      if (last?.is === is) last.text += part;
      else if (part) line.push({ text: part, is });
    });
  };
  let from = 0;
  for (const match of source.matchAll(PART)) {
    const { note, text, number, name } = match.groups ?? {};
    add(source.slice(from, match.index), 'plain');
    if (note !== undefined) add(note, 'note');
    else if (text !== undefined) add(text, 'text');
    else if (number !== undefined) add(number, 'number');
    else if (name !== undefined) add(name, WORDS.has(name) ? 'word' : 'plain');
    from = match.index + match[0].length;
  }
  add(source.slice(from), 'plain');
  return lines;
}
