import { expect, test } from 'vitest';
import type { Bar } from './bars';
import type { Colours } from './colours';
import { drawLabel } from './draw-labels';

/** A canvas with letters of 6 px that notes each text with its position. */
function canvas() {
  const written: [string, number][] = [];
  const ctx = {
    measureText: (text: string) => ({ width: text.length * 6 }),
    clearRect() {},
    fillText: (text: string, at: number) => written.push([text, at]),
  };
  return { written, ctx: ctx as unknown as CanvasRenderingContext2D };
}
const bar: Bar = { from: 0, to: 0, look: 'work', isThin: false, label: '4 ms' };
const colours = { soft: 'grey' } as Colours;

test('the text of a turn is written after the time of its bar', () => {
  const { ctx, written } = canvas();
  drawLabel(ctx, bar, [10, 50], 14, 400, colours, 'The lamp is broken');
  expect(written).toEqual([
    ['4 ms', 57],
    ['The lamp is broken', 89],
  ]);
});

test('beside a bar at the end of the axis the text is written before the time', () => {
  const { ctx, written } = canvas();
  drawLabel(ctx, bar, [300, 398], 14, 400, colours, 'The lamp');
  expect(written).toEqual([
    ['4 ms', 269],
    ['The lamp', 213],
  ]);
});

test('the text is cut to the available width, or left out if too little would remain', () => {
  const { ctx, written } = canvas();
  drawLabel(ctx, bar, [10, 50], 14, 175, colours, 'The lamp is broken again');
  expect(written[1]).toEqual(['The lamp is b…', 89]);
  const narrow = canvas();
  drawLabel(narrow.ctx, bar, [10, 50], 14, 110, colours, 'The lamp is broken again');
  expect(narrow.written).toEqual([['4 ms', 57]]);
});
