import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { commandLine } from './shell';

test('a shell reads back what was meant, whatever it contains', () => {
  const words = [
    'plain',
    'a b',
    "it's",
    '$HOME `id` "x"',
    'back\\slash',
    'ein Körbchen 🧺',
    'x\ny',
    '#',
    '',
    '-n',
    '*',
  ];
  const read = execFileSync('sh', ['-c', `for word in ${commandLine(words)}; do printf '%s\\0' "$word"; done`]);
  expect(read.toString().split('\0').slice(0, -1)).toEqual(words);
});
