import { expect, test } from 'vitest';
import { valueAt, withValue } from './path';
import { settingsIn, withSetting } from './settings-text';

test('sets a value and keeps the rest of the text', () => {
  const text = '{\n    "models": {},\n    "durability": "power"\n}\n';
  expect(withSetting(text, ['durability'], 'each')).toBe('{\n    "models": {},\n    "durability": "each"\n}\n');
  expect(withSetting('', ['limits', 'depth'], 5)).toBe('{\n  "limits": {\n    "depth": 5\n  }\n}\n');
  expect(withSetting('{\n\t"a": 1\n}', ['b'], [1])).toBe('{\n\t"a": 1,\n\t"b": [\n\t\t1\n\t]\n}');
});

test('removing a value also removes parents that become empty', () => {
  const text = withSetting('', ['prices', 'a/b.c', 'input'], 2);
  expect(settingsIn(text)).toEqual({ prices: { 'a/b.c': { input: 2 } } });
  expect(withSetting(text, ['prices', 'a/b.c'], undefined)).toBe('{}\n');
  expect(settingsIn(withSetting('{"a":{"b":1,"c":2}}', ['a', 'b'], undefined))).toEqual({ a: { c: 2 } });
});

test('keeps an unusual layout of lines', () => {
  const text = `{
  "prices": {
    "gpt-5-mini": { "input": 0.25,  "output": 2 },
    "big": { "input": 15, "output": 75 }
  },
  "fetch": { "allow": ["a.example", "b\\"]}.example"] }, "limits": {}
}
`;
  const lines = (next: string) => next.split('\n').filter((line, n) => line !== text.split('\n')[n]);
  expect(lines(withSetting(text, ['prices', 'big', 'input'], 16))).toEqual([
    '    "big": { "input": 16, "output": 75 }',
  ]);
  expect(lines(withSetting(text, ['prices', 'big', 'cachedInput'], 1.5))).toEqual([
    '    "big": { "input": 15, "output": 75, "cachedInput": 1.5 }',
  ]);
  expect(lines(withSetting(text, ['prices', 'gpt-5-mini', 'input'], undefined))).toEqual([
    '    "gpt-5-mini": { "output": 2 },',
  ]);
  expect(lines(withSetting(text, ['fetch', 'allow'], ['a.example']))).toEqual([
    '  "fetch": { "allow": ["a.example"] }, "limits": {}',
  ]);
  expect(lines(withSetting(text, ['limits', 'depth'], 5))[0]).toBe(
    '  "fetch": { "allow": ["a.example", "b\\"]}.example"] }, "limits": {',
  );
  const added = withSetting(text, ['prices', 'new', 'input'], 1);
  expect(added).toContain('"output": 75 },\n    "new": {\n      "input": 1\n    }\n  },');
  expect(withSetting(added, ['prices', 'new', 'input'], undefined)).toBe(text);
  const windows = text.replaceAll('\n', '\r\n');
  expect(withSetting(windows, ['prices', 'new', 'input'], 1)).toBe(added.replaceAll('\n', '\r\n'));
});

test('parsing the text returns every value that was set', () => {
  const text = '{"a":{"b":[1,{"c":"}"}],"a":1},"a":{"x":{}},"t":true,"n":-1.5e3}';
  for (const path of [['a'], ['a', 'x'], ['a', 'x', 'y'], ['t'], ['n', 'z'], ['new', 'er']]) {
    for (const value of [1, 'x', null, [1, [2]], { p: { q: [] } }]) {
      const next = withSetting(text, path, value);
      expect(settingsIn(next), `${path.join('.')} ${next}`).toEqual(withValue(settingsIn(text), path, value));
    }
    expect(valueAt(settingsIn(withSetting(text, path, undefined)), path)).toBeUndefined();
  }
});

test('a text that is not a settings object stays unchanged', () => {
  expect([settingsIn('{'), settingsIn('[]'), settingsIn('null'), settingsIn(' ')]).toEqual([null, null, null, {}]);
  for (const text of ['{ broken', '[]', 'null']) expect(withSetting(text, ['durability'], 'power')).toBe(text);
});
