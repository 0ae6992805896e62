// The lines of a source around one place, with the place marked. Pure; reading the file is somebody else's.

export type Line = { number: number; text: string; marked: boolean };

const LONGEST = 240;

export function excerpt(source: string, line: number, around = 4): Line[] {
  const lines = source.split('\n');
  const first = Math.max(1, line - around);
  const last = Math.min(lines.length, line + around);
  const found: Line[] = [];
  for (let number = first; number <= last; number++) {
    found.push({ number, text: (lines[number - 1] ?? '').slice(0, LONGEST), marked: number === line });
  }
  return found;
}

/** The whole source as lines, up to `most`, with one of them marked. */
export function numbered(source: string, line: number | null, most = 2000): Line[] {
  return source
    .split('\n')
    .slice(0, most)
    .map((text, at) => ({ number: at + 1, text: text.slice(0, LONGEST), marked: at + 1 === line }));
}
