// Texts can be read on every ground that they stand on, in light and in dark.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const css = readFileSync('src/tokens.css', 'utf8');
const [light = '', dark = ''] = css.slice(0, css.indexOf('@theme')).split('@variant dark');
const read = (part: string): Record<string, string> =>
  Object.fromEntries([...part.matchAll(/--([a-z-]+): (#[0-9a-f]{6});/g)].map(([, name, value]) => [name, value]));
const themes = { light: read(light), dark: { ...read(light), ...read(dark) } };

/** The relative luminance of WCAG. */
function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one: string, other: string): number {
  const [dim = 0, bright = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (bright + 0.05) / (dim + 0.05);
}

const TEXTS = ['ink', 'soft', 'faint', 'accent', 'good', 'bad', 'busy', 'hold', 'warn', 'idle'];
const HUES = ['syn-key', 'syn-text', 'syn-number', 'syn-word', 'syn-note'];
const GROUNDS = ['page', 'surface', 'sunken', 'raised', 'hover', 'chosen'];
const WASHES = ['bad-wash', 'good-wash', 'warn-wash', 'busy-wash'];

test.each(Object.entries(themes))('every text of the %s theme has a contrast of 4.5 on every ground', (_, colours) => {
  const pairs = [...TEXTS, ...HUES].flatMap((text) => [...GROUNDS, ...WASHES].map((ground) => [text, ground] as const));
  const low = pairs.filter(([text, ground]) => contrast(colours[text] ?? '', colours[ground] ?? '') < 4.5);
  expect(low).toEqual([]);
});

test.each(Object.entries(themes))('what stands on a filled button of the %s theme can be read', (_, colours) => {
  const pairs = [
    ['on-accent', 'accent'],
    ['on-accent', 'accent-strong'],
    ['on-bad', 'bad'],
    ['on-bad', 'bad-strong'],
  ];
  const low = pairs.filter(([text = '', ground = '']) => contrast(colours[text] ?? '', colours[ground] ?? '') < 4.5);
  expect(low).toEqual([]);
});
