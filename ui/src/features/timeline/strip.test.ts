import { expect, test } from 'vitest';
import { CURSORS, partAt } from './strip';

const places = { cursor: 300, left: 0, right: 1000, isZoomed: false };

test('the line of the instant is taken hold of at any height, before what is below it', () => {
  for (const y of [0, 16, 17, 30, 41])
    for (const x of [295, 300, 305]) expect([x, y, partAt(x, y, places)]).toEqual([x, y, 'instant']);
  // Also where it lies on an edge, or inside of the part in view.
  expect(partAt(1000, 30, { ...places, cursor: 1000 })).toBe('instant');
  expect(partAt(303, 30, { ...places, left: 200, right: 400, isZoomed: true })).toBe('instant');
  expect(CURSORS[partAt(304, 30, places)]).toBe('ew-resize');
});

test('elsewhere the part in view is moved, drawn anew, or made wider', () => {
  const zoomed = { ...places, left: 200, right: 400, isZoomed: true };
  expect(partAt(250, 5, zoomed)).toBe('instant');
  expect(partAt(250, 30, zoomed)).toBe('window');
  expect(partAt(204, 30, zoomed)).toBe('left');
  expect(partAt(395, 30, zoomed)).toBe('right');
  expect(partAt(700, 30, zoomed)).toBe('new');
  expect(partAt(500, 30, places)).toBe('new');
});
