// Markdown with settings at its top, between lines of `---`: the part of YAML that such settings are written in (single
// values, lists and objects, nested by indentation or in brackets, texts over several lines).

import { describeValue } from '../base/arguments';

type Fields = Record<string, unknown>;

interface Line {
  indent: number;
  text: string;
  number: number;
}

/** The settings, and the text below them. */
export function splitFrontMatter(text: string): { settings: Fields; body: string } {
  const plain = text.replace(/^\uFEFF/, '').replace(/\r\n/g, '\n');
  const head = /^---[ \t]*\n([\s\S]*?)(?:^|\n)---[ \t]*(?:\n|$)/.exec(plain);
  if (!head) return { settings: {}, body: plain };
  const settings = readSettings(head[1] as string);
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings)) {
    throw new Error(`front matter holds names with values, got ${describeValue(settings)}`);
  }
  return { settings: settings as Fields, body: plain.slice(head[0].length) };
}

function readSettings(text: string): unknown {
  const lines = text.split('\n').map((line, at) => {
    const indent = line.length - line.trimStart().length;
    return { indent, text: line.trimEnd().slice(indent), number: at + 2 };
  });
  const meant = lines.filter((line) => line.text !== '' && !line.text.startsWith('#'));
  if (meant.length === 0) return {};
  const reader = { lines, at: lines.indexOf(meant[0] as Line) };
  const value = readBlock(reader, (meant[0] as Line).indent);
  const rest = next(reader);
  if (rest) throw new Error(`front matter, line ${rest.number}: "${rest.text}" is indented by another width`);
  return value;
}

interface Reader {
  lines: Line[];
  at: number;
}

/** The next line that says something. */
function next(reader: Reader): Line | undefined {
  let line = reader.lines[reader.at];
  while (line && (line.text === '' || line.text.startsWith('#'))) line = reader.lines[++reader.at];
  return line;
}

function readBlock(reader: Reader, indent: number): unknown {
  return next(reader)?.text.startsWith('- ') ? readList(reader, indent) : readFields(reader, indent);
}

function readList(reader: Reader, indent: number): unknown[] {
  const values: unknown[] = [];
  for (let line = next(reader); line?.indent === indent && line.text.startsWith('- '); line = next(reader)) {
    reader.at++;
    values.push(readScalar(line.text.slice(2).trim(), line.number));
  }
  return values;
}

function readFields(reader: Reader, indent: number): Fields {
  const fields: Fields = {};
  for (let line = next(reader); line?.indent === indent; line = next(reader)) {
    const parts = /^("[^"]*"|'[^']*'|[^:#]+?)\s*:(?:\s+(.*))?$/.exec(line.text);
    if (!parts) throw new Error(`front matter, line ${line.number}: "${line.text}" is no "name: value"`);
    const name = String(readScalar(parts[1] as string, line.number));
    if (Object.prototype.hasOwnProperty.call(fields, name)) {
      throw new Error(`front matter, line ${line.number}: "${name}" stands there twice`);
    }
    reader.at++;
    fields[name] = readValue(reader, (parts[2] ?? '').trim(), line);
  }
  return fields;
}

function readValue(reader: Reader, text: string, line: Line): unknown {
  const style = /^([|>])([-+]?)$/.exec(text);
  if (style) return readText(reader, line.indent, style[1] === '>', style[2] as string);
  if (text !== '' && !text.startsWith('#')) return readScalar(text, line.number);
  const below = next(reader);
  if (!below) return null;
  const isList = below.text.startsWith('- ') && below.indent >= line.indent;
  return below.indent > line.indent || isList ? readBlock(reader, below.indent) : null;
}

/** A text over several lines: as they are, or joined. */
function readText(reader: Reader, indent: number, isJoined: boolean, end: string): string {
  const found: Line[] = [];
  for (let line = reader.lines[reader.at]; line && (line.text === '' || line.indent > indent);) {
    found.push(line);
    line = reader.lines[++reader.at];
  }
  while (found.at(-1)?.text === '') found.pop();
  const least = Math.min(...found.filter((line) => line.text !== '').map((line) => line.indent));
  const texts = found.map((line) => (line.text === '' ? '' : ' '.repeat(line.indent - least) + line.text));
  const joined = isJoined ? texts.join(' ').replace(/ {2,}/g, '\n') : texts.join('\n');
  return end === '-' ? joined : `${joined}\n`;
}

function readScalar(text: string, line: number): unknown {
  const wrong = (): never => {
    throw new Error(`front matter, line ${line}: ${text} cannot be read`);
  };
  if (text.startsWith('"')) {
    const end = /^("(?:[^"\\]|\\.)*")\s*(?:#.*)?$/.exec(text);
    return end ? (JSON.parse(end[1] as string) as unknown) : wrong();
  }
  if (text.startsWith("'")) {
    const end = /^'((?:[^']|'')*)'\s*(?:#.*)?$/.exec(text);
    return end ? (end[1] as string).replace(/''/g, "'") : wrong();
  }
  const plain = text.replace(/\s+#.*$/, '');
  if (plain.startsWith('[') || plain.startsWith('{')) return readFlow(plain, line, wrong);
  if (plain === '' || plain === '~' || plain === 'null') return null;
  if (plain === 'true' || plain === 'false') return plain === 'true';
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(plain) ? Number(plain) : plain;
}

/** `[a, b]` and `{ a: 1 }`, one in another. */
function readFlow(text: string, line: number, wrong: () => never): unknown {
  const isList = text.startsWith('[');
  if (!text.endsWith(isList ? ']' : '}')) return wrong();
  const parts: string[] = [];
  let [depth, quote, from] = [0, '', 1];
  for (let at = 1; at < text.length - 1; at++) {
    const letter = text[at] as string;
    if (quote !== '') quote = letter === quote ? '' : quote;
    else if (letter === '"' || letter === "'") quote = letter;
    else if ('[{'.includes(letter)) depth++;
    else if (']}'.includes(letter)) depth--;
    else if (letter === ',' && depth === 0) {
      parts.push(text.slice(from, at).trim());
      from = at + 1;
    }
  }
  const last = text.slice(from, -1).trim();
  if (last !== '') parts.push(last);
  if (isList) return parts.map((part) => readScalar(part, line));
  const pairs = parts.map((part) => {
    const at = part.indexOf(':');
    return at < 0
      ? wrong()
      : [String(readScalar(part.slice(0, at).trim(), line)), readScalar(part.slice(at + 1).trim(), line)];
  });
  return Object.fromEntries(pairs) as Fields;
}
