// Highlights TypeScript as lines of coloured pieces. The parser is loaded when the first source is shown. Until then, and
// if a text is too long, the source is plain.
import type { Tag } from '@lezer/highlight';

export type Piece = { text: string; look: string };

const HUES: Record<string, string> = {
  keyword: 'text-syn-word',
  text: 'text-syn-text',
  amount: 'text-syn-number',
  comment: 'text-syn-note',
};

/** The CSS class of a piece; names have no colour. */
export const hueOf = ({ look }: Piece): string => HUES[look] ?? '';

/** Longer texts would block the window. */
const MAX_CHARS = 300_000;

const plainLine = (text: string): Piece[] => [{ text, look: '' }];
export const plainLines = (text: string): Piece[][] => text.split('\n').map(plainLine);

export async function highlighted(text: string): Promise<Piece[][]> {
  if (text.length > MAX_CHARS) return plainLines(text);
  const [{ parser }, { highlightTree, tagHighlighter, tags }] = await Promise.all([
    import('@lezer/javascript'),
    import('@lezer/highlight'),
  ]);
  const look = (name: string, ...all: Tag[]) => all.map((tag) => ({ tag, class: name }));
  const highlighter = tagHighlighter([
    ...look('keyword', tags.keyword, tags.modifier, tags.operatorKeyword, tags.controlKeyword, tags.definitionKeyword),
    ...look('keyword', tags.moduleKeyword, tags.self, tags.null, tags.bool),
    ...look('text', tags.string, tags.special(tags.string), tags.regexp),
    ...look('amount', tags.number),
    ...look('comment', tags.comment, tags.lineComment, tags.blockComment),
    ...look('type', tags.typeName, tags.className),
    ...look('name', tags.function(tags.variableName), tags.function(tags.propertyName)),
    ...look('property', tags.propertyName, tags.definition(tags.propertyName)),
  ]);
  const lines: Piece[][] = [[]];
  const put = (from: number, to: number, name: string) => {
    text
      .slice(from, to)
      .split('\n')
      .forEach((part, n) => {
        if (n > 0) lines.push([]);
        if (part) lines.at(-1)?.push({ text: part, look: name });
      });
  };
  let at = 0;
  highlightTree(parser.configure({ dialect: 'ts' }).parse(text), highlighter, (from, to, name) => {
    if (from > at) put(at, from, '');
    put(from, to, name);
    at = to;
  });
  put(at, text.length, '');
  return lines;
}
