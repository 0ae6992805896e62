import { expect, test } from 'vitest';
import { bytes } from './size';

test.each([
  [0, '0 B'],
  [812, '812 B'],
  [1000, '1.0 KB'],
  [1536, '1.5 KB'],
  [43_000_000, '41 MB'],
  [5e9, '4.7 GB'],
])('%d bytes are %s', (size, text) => expect(bytes(size)).toBe(text));
