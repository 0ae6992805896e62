// The lines of an edit, each with its sign. Pure.

export type Sign = '+' | '-' | '@' | ' ';

/** `@@ line 7 @@` says where the lines below it are. */
export function lineOf(line: string): { sign: Sign; text: string } {
  if (line.startsWith('@@')) return { sign: '@', text: line.replace(/^@@\s*|\s*@@$/g, '') };
  const [first] = line;
  return first === '+' || first === '-'
    ? { sign: first, text: line.slice(1) }
    : { sign: ' ', text: line.startsWith(' ') ? line.slice(1) : line };
}
