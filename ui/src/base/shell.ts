// Command lines as text that can be pasted into a shell.

/** A word of a shell's command line, quoted where it must be. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

export const commandLine = (words: readonly string[]): string => words.map(shellWord).join(' ');
