import { expect, test } from 'vitest';
import { highlight } from './highlight';

const said = (source: string) =>
  highlight(source).map((line) => line.map(({ text, is }) => (is === 'plain' ? text : `${is}<${text}>`)).join(''));

test('words, texts, numbers and comments are told apart', () => {
  expect(said("const a1 = await f('x\\'y', 12.5); // done")).toEqual([
    "word<const> a1 = word<await> f(text<'x\\'y'>, number<12.5>); note<// done>",
  ]);
});

test('what goes over several lines keeps its hue in each', () => {
  expect(said('/* a\nb */ x\n`c\n${d}`')).toEqual(['note</* a>', 'note<b */> x', 'text<`c>', 'text<${d}`>']);
});

test('an unfinished text ends with its line, and nothing is lost', () => {
  const source = 'a = "b\nc = \'d\n';
  expect(said(source)).toEqual(['a = text<"b>', "c = text<'d>", '']);
  const text = highlight(source)
    .map((line) => line.map((piece) => piece.text).join(''))
    .join('\n');
  expect(text).toBe(source);
});
