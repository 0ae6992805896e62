import { expect, test } from 'vitest';
import { settingsIn, withSetting } from './settings-text';

test('a place is set, and the rest of the text stays as it is', () => {
  const text = '{\n    "models": {},\n    "durability": "power"\n}\n';
  expect(withSetting(text, ['durability'], 'each')).toBe('{\n    "models": {},\n    "durability": "each"\n}\n');
  expect(withSetting('', ['limits', 'depth'], 5)).toBe('{\n  "limits": {\n    "depth": 5\n  }\n}\n');
  expect(withSetting('{\n\t"a": 1\n}', ['b'], [1])).toBe('{\n\t"a": 1,\n\t"b": [\n\t\t1\n\t]\n}\n');
});

test('what is taken away takes what is empty then along', () => {
  const text = withSetting('', ['prices', 'a/b.c', 'input'], 2);
  expect(settingsIn(text)).toEqual({ prices: { 'a/b.c': { input: 2 } } });
  expect(withSetting(text, ['prices', 'a/b.c'], undefined)).toBe('{}\n');
  expect(settingsIn(withSetting('{"a":{"b":1,"c":2}}', ['a', 'b'], undefined))).toEqual({ a: { c: 2 } });
});

test('a text that is no settings says so', () => {
  expect([settingsIn('{'), settingsIn('[]'), settingsIn('null'), settingsIn(' ')]).toEqual([null, null, null, {}]);
});
