// The table of allowed imports between layers, and other rules for files.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

const SRC = resolve(import.meta.dirname);

/** A layer may import itself and the layers in its row. `types` are layers of which only types may be imported. */
const TABLE: Record<string, { values: string[]; types?: string[] }> = {
  base: { values: [] },
  place: { values: [] },
  widgets: { values: ['base'] },
  host: { values: ['base'] },
  model: { values: ['host', 'base', 'place'] },
  features: { values: ['widgets', 'model', 'base', 'place', 'host/host'], types: ['host'] },
  // The frame: App, its pages, and main, which alone chooses the host.
  frame: { values: ['features', 'widgets', 'model', 'base', 'place', 'host'] },
};

/** Tauri is named by the generated bindings and by the one host that uses them. */
const TAURI = ['host/bindings.ts', 'host/tauri.ts'];
/** Written by a generator, so the rules of length do not apply to it. */
const GENERATED = 'host/bindings.ts';
const LONGEST = { svelte: 250, ts: 250 };
/** Prettier breaks lines at 120 columns; a string or a list of classes that it cannot break may be this long. */
const WIDEST = 160;
const DRAWERS = /(^|\/)(utils?|helpers?|common|misc|lib|shared)(\.|\/|$)/;

const files = (readdirSync(SRC, { recursive: true }) as string[])
  .filter((file) => /\.(ts|svelte)$/.test(file))
  .map((file) => file.replaceAll('\\', '/'));

function layerOf(file: string): string {
  const [first = ''] = file.split('/');
  if (first in TABLE) return first;
  return file.startsWith('place.') ? 'place' : 'frame';
}

function importsOf(file: string): { from: string; typeOnly: boolean }[] {
  const text = readFileSync(join(SRC, file), 'utf8');
  const found = [];
  for (const match of text.matchAll(
    /(?:import|export)\s+(type\s+)?(?:[\w*{][^'";]*?\sfrom\s+)?['"]([^'"]+)['"]|import\('([^']+)'\)/g,
  )) {
    found.push({ from: match[2] ?? match[3] ?? '', typeOnly: match[1] !== undefined });
  }
  return found;
}

const inside = (file: string, from: string) => relative(SRC, resolve(SRC, dirname(file), from)).replaceAll('\\', '/');

test('every import goes down the table', () => {
  const wrong: string[] = [];
  for (const file of files.filter((one) => !one.includes('.test'))) {
    const layer = layerOf(file);
    const row = TABLE[layer];
    for (const { from, typeOnly } of importsOf(file)) {
      if (!from.startsWith('.')) continue;
      const to = inside(file, from);
      const toLayer = layerOf(to);
      if (toLayer === layer && layer !== 'features') continue;
      if (layer === 'features' && toLayer === 'features') {
        if (to.split('/')[1] !== file.split('/')[1]) wrong.push(`${file} imports the feature ${to}`);
        continue;
      }
      const allowed =
        row?.values.some((one) => one === toLayer || one === to) || (typeOnly && row?.types?.includes(toLayer));
      if (!allowed) wrong.push(`${file} (${layer}) imports ${to} (${toLayer})`);
    }
  }
  expect(wrong).toEqual([]);
});

test('the check detects a forbidden import', () => {
  expect(layerOf('features/run/RunForm.svelte')).toBe('features');
  expect(layerOf('App.svelte')).toBe('frame');
  expect(TABLE.widgets?.values).not.toContain('model');
  expect(importsOf('model/app.svelte.ts').length).toBeGreaterThan(5);
});

test('only the host names Tauri', () => {
  const naming = files.filter((file) => importsOf(file).some(({ from }) => from.startsWith('@tauri-apps/')));
  expect(naming.sort()).toEqual(TAURI);
});

test('no markup from content, and no files for miscellaneous code', () => {
  const markup = files.filter(
    (file) => file.endsWith('.svelte') && /\{@html/.test(readFileSync(join(SRC, file), 'utf8')),
  );
  expect(markup).toEqual([]);
  expect(files.filter((file) => DRAWERS.test(file))).toEqual([]);
});

test('every file says why it exists, and none is too long to read', () => {
  const wrong: string[] = [];
  for (const file of files.filter((one) => !one.includes('.test'))) {
    const text = readFileSync(join(SRC, file), 'utf8');
    const most = file.endsWith('.svelte') ? LONGEST.svelte : LONGEST.ts;
    if (file !== GENERATED && text.split('\n').length > most) wrong.push(`${file} is longer than ${most} lines`);
    if (!/^(\/\/|<!--|\/\*)/.test(text)) wrong.push(`${file} does not open with a comment`);
  }
  expect(wrong).toEqual([]);
});

test('no line is too long to read', () => {
  const wrong = files
    .filter((file) => file !== GENERATED)
    .flatMap((file) =>
      readFileSync(join(SRC, file), 'utf8')
        .split('\n')
        .flatMap((line, at) => (line.length > WIDEST ? [`${file}:${at + 1} has ${line.length} columns`] : [])),
    );
  expect(wrong).toEqual([]);
});
