// Markdown as a tree of tokens, by a library that is loaded when somebody asks for it. What the tree says is drawn as
// elements, never as markup: raw HTML in it is text, and no address is ever followed.
import type { MarkedToken, Token } from 'marked';

export type MarkdownToken = MarkedToken;

/** Longer texts are shown as they are. */
export const MAX_MARKDOWN_CHARS = 200_000;

const LOOKS =
  /(^|\n)\s{0,3}(#{1,6} |[-*+] |\d{1,9}[.)] |```|~~~|> |\|.*\|)|\*\*\S|__\S|`[^`\n]+`|\[[^\]\n]+\]\([^)\n]+\)/;

/** Whether a text has anything that would look otherwise. */
export const isMarkdown = (text: string): boolean => text.length <= MAX_MARKDOWN_CHARS && LOOKS.test(text);

export async function tokensOf(text: string): Promise<MarkdownToken[]> {
  const { Marked } = await import('marked');
  return known(new Marked({ gfm: true }).lexer(text));
}

/** Tokens of the library itself: no extension is in use. */
export const known = (tokens: readonly Token[] | undefined): MarkdownToken[] => (tokens ?? []) as MarkdownToken[];

const IMAGE = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*$/;
const KINDS = /^image\/(png|jpeg|gif|webp)$/;
const BASE64 = /^[A-Za-z0-9+/]{16,}=*$/;
/** A larger one is not drawn. */
const MAX_IMAGE_CHARS = 12_000_000;
const DEEPEST = 8;

/** The address of a picture that is a picture itself; null for anything that would have to be fetched. */
export const pictureIn = (text: unknown): string | null =>
  typeof text === 'string' && text.length <= MAX_IMAGE_CHARS && IMAGE.test(text) ? text : null;

/** The pictures in a value: whole addresses of data, or data beside what kind of picture it is. At most so many. */
export function picturesIn(value: unknown, most: number, depth = 0): string[] {
  const whole = pictureIn(value);
  if (whole !== null) return [whole];
  if (typeof value !== 'object' || value === null || depth > DEEPEST) return [];
  const fields = value as Record<string, unknown>;
  const kind = [fields.mediaType, fields.mimeType, fields.mime_type].find((one) => KINDS.test(String(one)));
  const data = [fields.data, fields.image, fields.base64].find((one) => typeof one === 'string' && BASE64.test(one));
  if (kind !== undefined && typeof data === 'string') {
    const found = pictureIn(`data:${String(kind)};base64,${data}`);
    return found === null ? [] : [found];
  }
  const found: string[] = [];
  for (const inner of Object.values(fields)) {
    if (found.length >= most) break;
    found.push(...picturesIn(inner, most - found.length, depth + 1));
  }
  return found.slice(0, most);
}

/** Whether an item may hold pictures, which may be left out of what the list has of it. */
export const mayHavePictures = (value: unknown): boolean => {
  const text = JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'string' && inner.length > 64 ? inner.slice(0, 64) : inner,
  );
  return /data:image\/(png|jpeg|gif|webp)|"image\/(png|jpeg|gif|webp)"/.test(text ?? '');
};
