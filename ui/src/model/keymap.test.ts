import { beforeEach, expect, test } from 'vitest';
import { remember } from '../base/remember';
import type { AppModel } from './app.svelte';
import { COMMANDS, tip, type Command } from './commands';
import { commandOf } from './dispatch';
import { KeyMap, keymap } from './keymap.svelte';

const of = (id: string) => COMMANDS.find((one) => one.id === id) as Command;
const app = {
  host: {},
  request: { row: {}, live: true },
  window: { sheet: null, singleKeys: true, timeline: null, form: null },
  workspace: { info: { answer: {} } },
} as unknown as AppModel;
const pressed = (key: string, more = {}) => commandOf(app, new KeyboardEvent('keydown', { key, ...more }))?.id;

beforeEach(() => {
  localStorage.clear();
  keymap.reload();
});

test('a command gets another key, in the dispatcher and in tooltips, and keeps it', () => {
  expect(pressed('n')).toBe('instant.nextFailure');
  expect(keymap.set(of('instant.nextFailure'), 'Ctrl+e', COMMANDS)).toBeNull();
  expect(pressed('n')).toBeUndefined();
  expect(pressed('e', { ctrlKey: true })).toBe('instant.nextFailure');
  expect(tip('instant.nextFailure')).toBe('Next failure (Ctrl+E)');
  expect(new KeyMap().keysOf(of('instant.nextFailure'))).toEqual(['Ctrl+e']);
  expect(keymap.reset(of('instant.nextFailure'), COMMANDS)).toBeNull();
  expect(pressed('n')).toBe('instant.nextFailure');
});

test('a key can be taken away', () => {
  expect(keymap.set(of('instant.live'), null, COMMANDS)).toBeNull();
  expect(pressed('l')).toBeUndefined();
  expect(tip('instant.live')).toBe('Follow the newest event');
});

test('no key does two things, and first keys that another has now are not given back', () => {
  expect(keymap.set(of('instant.live'), 'Ctrl+k', COMMANDS)).toBe('Ctrl+K is the key of “Find anything”');
  expect(keymap.set(of('instant.live'), null, COMMANDS)).toBeNull();
  expect(keymap.set(of('instant.nextFailure'), 'l', COMMANDS)).toBeNull();
  expect(keymap.reset(of('instant.live'), COMMANDS)).toBe('l is the key of “Next failure”');
  keymap.resetAll();
  expect([pressed('l'), pressed('n')]).toEqual(['instant.live', 'instant.nextFailure']);
});

test('keys that controls and texts need are refused', () => {
  for (const chord of ['Tab', 'Enter', 'Escape', ' ', 'Ctrl+c', 'ArrowDown', 'ContextMenu', 'Ctrl+Shift+z'])
    expect(keymap.set(of('instant.live'), chord, COMMANDS)).toMatch(/ is for (what has the focus|texts)$/);
  // Within the timeline arrows are commands of the table.
  expect(keymap.set(of('timeline.find'), 'End', COMMANDS)).toBe('End is the key of “Last row”');
});

test('what else may stand in the storage is no key map', () => {
  for (const found of [null, 7, 'x', ['a'], { live: 'x' }, { 'instant.live': [1] }]) {
    remember('keys.changed', found);
    expect(new KeyMap().keysOf(of('instant.live'))).toEqual(['l']);
  }
});
