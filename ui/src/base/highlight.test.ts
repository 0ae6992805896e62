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

test('what goes over several lines keeps its hue in each', async () => {
  const lines = await highlighted('/* a\nb */ x;\n`c\nd`');
  const said = lines.map((line) => line.map(({ text, look }) => (look ? `${look}<${text}>` : text)).join(''));
  expect(said).toEqual(['comment</* a>', 'comment<b */> x;', 'text<`c>', 'text<d`>']);
});

test('of a text that does not end nothing is lost', async () => {
  const source = 'a = "b\nc = \'d\n';
  const lines = await highlighted(source);
  expect(lines.map((line) => line.map((piece) => piece.text).join('')).join('\n')).toBe(source);
});

test('what is no TypeScript is still shown', async () => {
  const text = '<<<< not <b>code</b> {{{';
  const [line] = await highlighted(text);
  expect(line?.map((piece) => piece.text).join('')).toBe(text);
});
