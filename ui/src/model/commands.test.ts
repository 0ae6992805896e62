import { expect, test } from 'vitest';
import { verbs } from '../host/bindings';
import { COMMANDS, EXCEPT, NOT_IN_THE_WINDOW, ONLY_IN_THE_WINDOW, tip, type Command } from './commands';

const has = (one: Command) => one.verb !== undefined;

test('every command of the program is in the window, or the list says why not', () => {
  const here = new Set(COMMANDS.flatMap((one) => one.verb ?? []));
  const lacking = verbs.filter((verb) => !here.has(verb));
  expect([...lacking].sort()).toEqual(Object.keys(NOT_IN_THE_WINDOW).sort());
});

test('the list of what is lacking names nothing that is there or that does not exist', () => {
  for (const [verb, why] of Object.entries(NOT_IN_THE_WINDOW)) {
    expect(verbs, verb).toContain(verb);
    expect(
      COMMANDS.some((one) => one.verb === verb),
      verb,
    ).toBe(false);
    expect(why, verb).toMatch(/^[A-Z].{10,}\.$/);
  }
});

test('every command of the window is one of the program, or only changes what the window shows', () => {
  for (const one of COMMANDS) {
    if (has(one)) expect(verbs, one.id).toContain(one.verb);
    else expect(ONLY_IN_THE_WINDOW[one.group] ?? EXCEPT[one.id], one.id).toBeTruthy();
  }
});

test('no exception is left over', () => {
  for (const id of Object.keys(EXCEPT)) {
    const one = COMMANDS.find((command) => command.id === id);
    expect(one && !has(one) && ONLY_IN_THE_WINDOW[one.group] === null, id).toBe(true);
  }
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
