import { expect, test } from 'vitest';
import { below, sizeOf } from './large';

test('a pointer names keys that have its own signs', () => {
  expect(below('', 'list')).toBe('/list');
  expect(below('/list', 0)).toBe('/list/0');
  expect(below('/deep', 'a/b~c')).toBe('/deep/a~1b~0c');
  expect(below('', '')).toBe('/');
});

test('a size is in words', () => {
  expect(sizeOf({ kind: 'list', count: 20_000 })).toBe('list, 20,000 entries');
  expect(sizeOf({ kind: 'object', count: 1 })).toBe('object, 1 key');
});
