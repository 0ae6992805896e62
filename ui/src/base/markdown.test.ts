import { expect, test } from 'vitest';
import { isMarkdown, mayHavePictures, pictureIn, picturesIn, tokensOf } from './markdown';

const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

test('only a text that would look otherwise is markdown', () => {
  for (const text of ['# Plan', 'a\n- b', '1. one', '**bold**', 'see `x`', '[a](b)', '> said', '```\nx\n```', '|a|b|'])
    expect(isMarkdown(text)).toBe(true);
  for (const text of ['Hello', '2 * 3 * 4', 'a_b_c', 'C# is fine', '']) expect(isMarkdown(text)).toBe(false);
  expect(isMarkdown(`# ${'x'.repeat(300_000)}`)).toBe(false);
});

test('raw HTML stays a token of its own, which is drawn as text', async () => {
  const [token] = await tokensOf('<img src=x onerror=alert(1)>');
  expect([token?.type, token?.raw]).toEqual(['html', '<img src=x onerror=alert(1)>']);
});

test('only pictures that need no network are pictures', () => {
  const data = `data:image/png;base64,${DOT}`;
  expect(pictureIn(data)).toBe(data);
  for (const other of [
    'https://example.com/a.png',
    `data:image/svg+xml;base64,${DOT}`,
    `data:text/html;base64,${DOT}`,
    `${data}" onerror="x`,
    `data:image/png;base64,<b>`,
    5,
  ])
    expect(pictureIn(other)).toBeNull();
  const item = { content: [{ type: 'image', mediaType: 'image/png', data: DOT }, { url: data }, { url: 'file:///x' }] };
  expect(picturesIn(item, 9)).toEqual([data, data]);
  expect(picturesIn(item, 1)).toEqual([data]);
  expect([mayHavePictures(item), mayHavePictures({ text: 'image' })]).toEqual([true, false]);
});
