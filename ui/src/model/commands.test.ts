import { expect, test } from 'vitest';
import { chordOf } from '../base/keys';
import { verbs } from '../host/bindings';
import { COMMANDS, EXCEPT, NOT_IN_THE_WINDOW, ONLY_IN_THE_WINDOW, tip, type Command } from './commands';

const has = (one: Command) => one.verb !== undefined;

test('every command of the program is in the window, or the list says why not', () => {
  const here = new Set(COMMANDS.flatMap((one) => one.verb ?? []));
  const lacking = verbs.filter((verb) => !here.has(verb));
  expect([...lacking].sort()).toEqual(Object.keys(NOT_IN_THE_WINDOW).sort());
});

test('the list of what is lacking gives a reason for each', () => {
  const why = Object.entries(NOT_IN_THE_WINDOW).filter(([, reason]) => !/^[A-Z].{10,}\.$/.test(reason));
  expect(why).toEqual([]);
});

test('every command of the window is one of the program, or only changes what the window shows', () => {
  const known: readonly string[] = verbs;
  const wrong = COMMANDS.filter((one) =>
    one.verb ? !known.includes(one.verb) : !(ONLY_IN_THE_WINDOW[one.group] ?? EXCEPT[one.id]),
  );
  expect(wrong.map((one) => one.id)).toEqual([]);
});

test('no exception is left over', () => {
  const needed = COMMANDS.filter((one) => !has(one) && ONLY_IN_THE_WINDOW[one.group] === null);
  expect(needed.map((one) => one.id)).toEqual(Object.keys(EXCEPT));
});

test('ids are unique, and no key stands for two commands', () => {
  const ids = COMMANDS.map((one) => one.id);
  expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
  const keys = COMMANDS.flatMap((one) => one.keys);
  expect(keys.filter((key, at) => keys.indexOf(key) !== at)).toEqual([]);
});

test('a tooltip names the keys', () => {
  expect(tip('instant.nextFailure')).toBe('Next failure (n)');
  expect(tip('palette')).toBe('Find anything (Ctrl+K)');
  expect(tip('link')).toBe('Copy a link to this place');
  expect(tip('none')).toBe('');
});

test('titles use the words of the field', () => {
  const odd = COMMANDS.filter(({ title }) => /put away|of today|a place of|no more/.test(title));
  expect(odd.map((one) => one.title)).toEqual([]);
});

test('every key of the table can be pressed', () => {
  const wrong = COMMANDS.flatMap((one) => one.keys).filter((chord) => {
    const [, ctrl, alt, shift, name = ''] = /^(Ctrl\+)?(Alt\+)?(Shift\+)?(.+)$/.exec(chord) ?? [];
    const [ctrlKey, altKey, shiftKey] = [ctrl, alt, shift].map((part) => part !== undefined) as [
      boolean,
      boolean,
      boolean,
    ];
    const key = shiftKey && name.length === 1 ? name.toUpperCase() : name;
    return chordOf({ key, ctrlKey, altKey, shiftKey, metaKey: false }) !== chord;
  });
  expect(wrong).toEqual([]);
});
