// Formats sizes in bytes.

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'];

/** In units of 1,024, with at most three digits: `812 B`, `1.5 KB`, `41 MB`. */
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

/** The length of a text in bytes of UTF-8. */
export const byteLength = (text: string): number => ENCODER.encode(text).length;
