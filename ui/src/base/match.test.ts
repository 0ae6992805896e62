import { expect, test } from 'vitest';
import { best, match } from './match';

const of = (query: string, all: string[]) => best(query, all, (text) => text, 5);

test('letters must appear in order', () => {
  expect(match('cht', 'chat')).not.toBeNull();
  expect(match('tch', 'chat')).toBeNull();
  expect(match('', 'anything')).not.toBeNull();
});

test('a word start beats the middle of a word, wherever it stands', () => {
  expect(of('ion', ['session', 'open ion'])).toEqual(['open ion', 'session']);
  expect(of('run', ['prune a run', 'trunk', 'run'])).toEqual(['run', 'prune a run', 'trunk']);
});

test('scattered letters count only where nothing has the word', () => {
  const scattered = 'desk.answer Ada has broken a link';
  expect(of('dark', [scattered, 'Theme: dark'])).toEqual(['Theme: dark']);
  expect(of('dark', [scattered])).toEqual([scattered]);
});

test('the words that are typed may stand in another order', () => {
  expect(of('dark theme', ['Theme: light', 'Theme: dark'])).toEqual(['Theme: dark']);
  expect(of('theme dark', ['dark thematic', 'Theme: dark'])).toEqual(['Theme: dark']);
});

test('no more than asked for', () => {
  expect(best('', ['a', 'b', 'c'], (text) => text, 2)).toEqual(['a', 'b']);
});
