import { expect, test } from 'vitest';
import { axisOf } from './axis';
import type { Colours } from './colours';
import { drawDensity } from './density';

const colours = { line: 'line', idle: 'idle', barEdge: 'bar', bad: 'bad' } as Colours;

/** What was filled, by colour: from where to where. */
function filled(scene: Omit<Parameters<typeof drawDensity>[1], 'height' | 'colours'>) {
  const rects: { colour: string; from: number; to: number }[] = [];
  const ctx = {
    fillStyle: '',
    clearRect: () => {},
    beginPath: () => {},
    lineTo: () => {},
    stroke: () => {},
    fillRect(x: number, _y: number, wide: number) {
      rects.push({ colour: this.fillStyle, from: x, to: x + wide });
    },
  };
  drawDensity(ctx as unknown as CanvasRenderingContext2D, { ...scene, height: 40, colours });
  return (colour: string) => rects.filter((rect) => rect.colour === colour);
}

test('what was resumed after a long pause is drawn behind the cut, also once the request has gone on', () => {
  const gap = { from: 1_000, to: 100_000 };
  const density = [
    { from: 0, to: 1_000, cells: [4, 4, 4, 4], failures: [0, 0, 0, 0] },
    { from: 100_000, to: 100_100, cells: [2, 2], failures: [0, 1] },
  ];
  // The density is of an instant at which the second stretch took a tenth of a second; the axis is of one later.
  for (const to of [100_100, 101_000, 130_000]) {
    const axis = axisOf({ from: 0, to }, [gap], true);
    const of = filled({ density, axis, width: 600 });
    const [cut] = of('line');
    expect(cut).toBeDefined();
    const bars = of('bar');
    expect(bars.length).toBeGreaterThan(4);
    expect(bars.slice(0, 4).every((bar) => bar.to <= (cut?.from ?? 0))).toBe(true);
    expect(bars.slice(4).every((bar) => bar.from >= (cut?.to ?? 600) - 1)).toBe(true);
    expect(of('bad').every((bar) => bar.from >= (cut?.to ?? 600) - 1)).toBe(true);
  }
});

test('before the first answer only the cuts are drawn', () => {
  const of = filled({ density: [], axis: axisOf({ from: 0, to: 1000 }, [], true), width: 600 });
  expect(of('bar')).toEqual([]);
});
