// A budget is read as the command line reads `--budget`: the tests of both have the same numbers.
import { expect, test } from 'vitest';
import { budgetOf, countOf, type BudgetDraft } from './budget';

function read(amount: string, unit: BudgetDraft['unit']) {
  const wrong: { budget?: string } = {};
  const budget = budgetOf({ amount, unit }, wrong);
  return wrong.budget ?? budget;
}

test('numbers are those of the command line', () => {
  expect(read('50', 'calls')).toEqual({ calls: 50 });
  expect(read(' 5 ', 'calls')).toEqual({ calls: 5 });
  expect(read('20_000', 'tokens')).toEqual({ tokens: 20_000 });
  expect(read('20 000', 'tokens')).toEqual({ tokens: 20_000 });
  expect(read('+7', 'calls')).toEqual({ calls: 7 });
  expect(read('007', 'calls')).toEqual({ calls: 7 });
  expect(read('4294967295', 'calls')).toEqual({ calls: 4_294_967_295 });
  expect(read('0.5', 'usd')).toEqual({ usd: 0.5 });
  expect(read('1e-3', 'usd')).toEqual({ usd: 0.001 });
  expect(read('1_000', 'usd')).toEqual({ usd: 1000 });
  expect(read('.5', 'usd')).toEqual({ usd: 0.5 });
  expect(read('  ', 'usd')).toBe(null);
});

test('what is out of range or no number is refused with the range', () => {
  const others = [
    '99999999999',
    '4294967296',
    '-1',
    '0',
    '0.5',
    '5.0',
    'nan',
    'inf',
    '1e400',
    '1e3',
    '0x10',
    '١٢',
    '1,000',
  ];
  for (const text of others) {
    expect(read(text, 'calls')).toBe(`${text} model calls: give a whole number from 1 to 4294967295`);
    expect(read(text, 'tokens')).toBe(`${text} tokens: give a whole number from 1 to 4294967295`);
  }
  for (const text of ['-1', '0', 'nan', '1e400', '1000000001', '0x10', '١٢', 'infinity', '.', '1,5']) {
    expect(read(text, 'usd')).toBe(`${text} US dollars: give more than 0 and at most 1000000000`);
  }
});

test('a count is a whole number from 1', () => {
  expect(['1', ' 12 ', '0', '1e3', '0x10', '1.5', ''].map(countOf)).toEqual([1, 12, null, null, null, null, null]);
});
