import { expect, test } from 'vitest';
import { fieldWords, sheetWords } from './flag-words';

test('a flag of the command line is the field of the sheet', () => {
  expect(fieldWords('--score: column 14: the expression ends too early')).toBe(
    'Score: column 14: the expression ends too early',
  );
  expect(fieldWords('--at root/step:a: no model is asked there; --model, --prompt and --parameter need one')).toBe(
    'Block root/step:a: no model is asked there; models, prompts and parameters need one',
  );
  expect(fieldWords('--score-schema text.json is not a JSON Schema: 5')).toBe(
    'JSON Schema text.json is not a JSON Schema: 5',
  );
});

test('what is no flag of it stays', () => {
  expect(fieldWords('git --version failed, a--set')).toBe('Git --version failed, a--set');
  expect(sheetWords({ kind: 'invalid', message: '--budget: give at least 1' }).message).toBe('Budget: give at least 1');
});
