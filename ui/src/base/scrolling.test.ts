import { expect, test } from 'vitest';
import { isScaled, lastTop, MOST_PIXELS, scrollHeight, scrollOf, topOf } from './scrolling';

const ROWS = 2_000_000;
const [HEIGHT, ROOM] = [26, 700];

test('a list that fits is scrolled pixel by pixel', () => {
  expect(scrollHeight(1000, HEIGHT)).toBe(26_000);
  expect(topOf(1234, 1000, HEIGHT, ROOM)).toBe(1234);
  expect(scrollOf(1234, 1000, HEIGHT, ROOM)).toBe(1234);
});

test('two million rows stay below the maximum height of engines, and the last is at the end of the scrollbar', () => {
  expect(isScaled(ROWS, HEIGHT)).toBe(true);
  expect(scrollHeight(ROWS, HEIGHT)).toBeLessThanOrEqual(33_000_000);
  const top = topOf(MOST_PIXELS - ROOM, ROWS, HEIGHT, ROOM);
  expect(top).toBe(lastTop(ROWS, HEIGHT, ROOM));
  expect(Math.ceil((top + ROOM) / HEIGHT)).toBe(ROWS);
  expect(topOf(0, ROWS, HEIGHT, ROOM)).toBe(0);
});

test('every row of two million can be reached, and is found again from the position of the scrollbar', () => {
  for (const row of [0, 1, 17, 999_999, 1_290_563, 1_999_000, ROWS - 30]) {
    const top = row * HEIGHT;
    const scroll = scrollOf(top, ROWS, HEIGHT, ROOM);
    expect(scroll).toBeLessThanOrEqual(MOST_PIXELS - ROOM);
    expect(Math.round(topOf(scroll, ROWS, HEIGHT, ROOM) / HEIGHT)).toBe(row);
  }
});
