// Sizes in bytes as people read them.

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'];

/** In steps of 1,024, with three figures at most: `812 B`, `1.5 KB`, `41 MB`. */
export function bytes(size: number): string {
  let step = 0;
  let rest = size;
  while (rest >= 1000 && step < UNITS.length - 1) {
    rest /= 1024;
    step++;
  }
  const digits = step === 0 || rest >= 10 ? 0 : 1;
  return `${rest.toFixed(digits)} ${UNITS[step]}`;
}

const ENCODER = new TextEncoder();

/** How many bytes a text has where it is stored. */
export const byteLength = (text: string): number => ENCODER.encode(text).length;
