import { expect, test } from 'vitest';
import type { Instant, PrintedValue } from '../../../host/host';
import {
  changedLocals,
  columnsOn,
  firstShown,
  hitsOf,
  hitTitle,
  hitWords,
  markedPieces,
  MAX_LINES,
  namedIn,
  partWith,
  previewOf,
  statementWords,
  unreachedLines,
} from './lines';

const value = (preview: string, kind = 'number'): PrintedValue => ({ kind, preview });

const instant = (more: Partial<Instant>): Instant =>
  ({
    instant: 'root#0+1',
    code: '',
    file: 'a.ts',
    line: 2,
    column: 5,
    endLine: 2,
    endColumn: 9,
    function: 'execute',
    path: 'root',
    attempt: 0,
    tick: 1,
    ticks: 9,
    locals: [],
    stack: [],
    seq: 1,
    ...more,
  }) as Instant;

test('counts are short, and a line that never ran has none', () => {
  expect([undefined, 0, 1, 12, 1234, 55_000].map(hitWords)).toEqual(['', '', '1', '12', '1.2k', '55k']);
  expect([undefined, 0, 1, 1234].map(hitTitle)).toEqual([
    undefined,
    'Never ran in this request',
    'Ran once in this request',
    'Ran 1,234 times in this request',
  ]);
});

test('lines below a statement that never ran belong to it as far as they are deeper', () => {
  const lines = ['if (a) {', '  throw new Error(', '    "no",', '  );', '', '}', 'return 1;', 'return {', '  b,', '};'];
  const hits = hitsOf(
    [{ file: 'a.ts', lines: [1, 2, 7, 8].map((line) => ({ line, hits: line === 1 ? 1 : 0 })) }],
    'a.ts',
    '',
  );
  expect([...unreachedLines(lines, hits)]).toEqual([2, 3, 7, 8, 9]);
  expect([...unreachedLines(lines, hitsOf(null, 'a.ts', ''))]).toEqual([]);
});

test('of a file that was changed the lines of the text that is shown are counted', () => {
  const of = (code: string, hits: number) => ({ file: 'a.ts', code, lines: [{ line: 1, hits }] });
  expect([...hitsOf([of('one', 3), of('two', 4)], 'a.ts', 'two')]).toEqual([[1, 4]]);
});

test('a long file shows the part around a line, and another part only for a line outside of it', () => {
  expect(firstShown(100, 90)).toBe(1);
  expect(firstShown(10_000, 5000)).toBe(5000 - MAX_LINES / 2);
  expect(firstShown(10_000, 9999)).toBe(10_000 - MAX_LINES + 1);
  expect(partWith(4250, 10_000, 4250)).toBe(4250);
  expect(partWith(4250, 10_000, 4250 + MAX_LINES)).toBe(4250 + MAX_LINES / 2);
});

test('what a move changed is named with what was there before', () => {
  const before = instant({
    locals: [
      { name: 'a', value: value('1') },
      { name: 'b', value: value('2') },
    ],
  });
  const locals = [
    { name: 'a', value: value('3') },
    { name: 'b', value: value('2') },
    { name: 'c', value: value('4') },
  ];
  expect([...changedLocals(before, instant({ tick: 2, locals }))]).toEqual([
    ['a', '1'],
    ['c', null],
  ]);
  // What was shown before a move backwards comes later.
  expect([...changedLocals({ ...before, tick: 3 }, instant({ tick: 2, locals }))]).toEqual([
    ['a', null],
    ['c', null],
  ]);
  expect(changedLocals(before, instant({ tick: 2, locals, function: 'other' })).size).toBe(0);
  expect(changedLocals(null, instant({ locals })).size).toBe(0);
  expect(changedLocals(before, instant({ locals })).size).toBe(0);
});

test('the names of a statement are whole words', () => {
  const locals = ['sum', 'line', 'su', '$a'].map((name) => ({ name, value: value('1') }));
  expect(namedIn('sum += line.price * $a;', locals).map(({ name }) => name)).toEqual(['sum', 'line', '$a']);
});

test('the columns of a statement are marked in the pieces of its lines', () => {
  const at = instant({ line: 2, column: 5, endLine: 3, endColumn: 4 });
  expect([1, 2, 3, 4].map((line) => columnsOn(at, line, 10))).toEqual([
    null,
    { from: 5, to: 11 },
    { from: 1, to: 4 },
    null,
  ]);
  const pieces = markedPieces(
    [
      { text: 'const ', look: 'keyword' },
      { text: 'a = b;', look: '' },
    ],
    { from: 3, to: 8 },
  );
  expect(pieces.map(({ piece, isMarked }) => [piece.text, isMarked])).toEqual([
    ['co', false],
    ['nst ', true],
    ['a', true],
    [' = b;', false],
  ]);
  expect(markedPieces([{ text: 'a', look: '' }], null)).toEqual([{ piece: { text: 'a', look: '' }, isMarked: false }]);
});

test('a value that has none says why', () => {
  expect(previewOf({ error: { name: 'TypeError', message: 'x is not a function' } })).toBe(
    'TypeError: x is not a function',
  );
});

test('a statement is named by its number, and the ends of a block by a word', () => {
  const words = (more: Partial<Instant>) => [true, false].map((isWide) => statementWords(instant(more), isWide));
  expect(words({ tick: 10, ticks: 12 })).toEqual(['statement 10 of 12', '10 of 12']);
  expect(words({ tick: 10, ticks: 5012 })).toEqual(['statement 10 of 5,012', '10/5,012']);
  expect(words({ tick: 0, ticks: 12, ended: 'start' })).toEqual(['before the first of 12 statements', 'start']);
  expect(words({ tick: 13, ticks: 12, ended: 'error' })).toEqual(['after the last of 12 statements', 'end']);
});
