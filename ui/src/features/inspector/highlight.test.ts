import { expect, test } from 'vitest';
import { highlighted } from './highlight';

test('every character of a source is in its line, with a look for what it is', async () => {
  const text = 'const n: number = 1; // one\n\nexport const say = (who: string) => `hi\n${who}`;\n';
  const lines = await highlighted(text);
  expect(lines.map((line) => line.map((piece) => piece.text).join('')).join('\n')).toBe(text);
  const looks = new Map(lines.flat().map((piece) => [piece.text.trim(), piece.look]));
  expect(looks.get('const')).toBe('keyword');
  expect(looks.get('1')).toBe('amount');
  expect(looks.get('// one')).toBe('comment');
});

test('what is no TypeScript is still shown', async () => {
  const text = '<<<< not <b>code</b> {{{';
  const [line] = await highlighted(text);
  expect(line?.map((piece) => piece.text).join('')).toBe(text);
});
