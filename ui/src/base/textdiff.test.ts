import { expect, test, vi } from 'vitest';
import { firstPart, lastPart, shownParts, textDiff, type TextPart } from './textdiff';

/** `the -red- +blue+ fox`. */
const written = (parts: readonly TextPart[]) =>
  parts.map(({ is, text }) => (is === 'same' ? text : is === 'removed' ? `[-${text}-]` : `{+${text}+}`)).join('');

test.each([
  ['the red fox', 'the blue fox', 'the [-red-]{+blue+} fox'],
  [
    'The quick brown fox jumps over the lazy dog.',
    'The quick red fox jumps over the lazy cat.',
    'The quick [-brown-]{+red+} fox jumps over the lazy [-dog-]{+cat+}.',
  ],
  ['', 'x', '{+x+}'],
  ['x', '', '[-x-]'],
  ['same', 'same', 'same'],
  ['plan 1', 'plan 2', 'plan [-1-]{+2+}'],
  // No mark cuts a word, though its letters begin or end alike.
  ['investigate it', 'investigator it', '[-investigate-]{+investigator+} it'],
  ['a unhappy man', 'a happy man', 'a [-unhappy-]{+happy+} man'],
  ['eat until the evening', 'sleep until the morning', '[-eat-]{+sleep+} until the [-evening-]{+morning+}'],
  ['one two three', 'one three', 'one [-two -]three'],
  ['grün 👍🏽', 'grau 👎🏽', '[-grün 👍-]{+grau 👎+}🏽'],
])('%s → %s by words', (old, now, expected) => {
  expect(written(textDiff(old, now))).toBe(expected);
});

test('the parts make both texts again', () => {
  let seed = 7;
  const random = (n: number) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
  const text = () => Array.from({ length: random(30) }, () => ['a', 'bb', 'c.', 'dé', '\n'][random(5)]).join(' ');
  for (let n = 0; n < 300; n++) {
    const [old, now] = [text(), text()];
    const parts = textDiff(old, now);
    const without = (is: TextPart['is']) =>
      parts
        .filter((part) => part.is !== is)
        .map((part) => part.text)
        .join('');
    expect([without('added'), without('removed')]).toEqual([old, now]);
  }
});

test('a long text is read once, and one that differs all over is two parts', () => {
  const text = 'x '.repeat(1 << 15);
  const read = vi.spyOn(String.prototype, 'charCodeAt');
  expect(written(textDiff(`${text}a`, `${text}b`).slice(1))).toBe('[-a-]{+b+}');
  const reads = read.mock.calls.length;
  read.mockRestore();
  expect(reads).toBeLessThanOrEqual(2 * text.length + 40);
  const words = (of: string) => Array.from({ length: 100_000 }, (_, n) => `${of}${n}`).join(' ');
  expect(textDiff(words('a'), words('b'))).toHaveLength(2);
});

test('shared stretches keep the words beside what differs', () => {
  const shown = shownParts(textDiff(`${'before '.repeat(9)}red`, `${'before '.repeat(9)}blue`), 10);
  expect(written(shown)).toBe('…re before [-red-]{+blue+}');
});

test('parts say that something is left out', () => {
  expect(firstPart('abcdef', 3)).toBe('abc…');
  expect(lastPart('abcdef', 3)).toBe('…def');
  expect(firstPart('abc', 3)).toBe('abc');
});
