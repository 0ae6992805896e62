import { expect, test } from 'vitest';
import { dollars, short } from './amount';

test('amounts are short and say something', () => {
  expect([640, 4100, 12_345, 1_200_000].map(short)).toEqual(['640', '4.1k', '12k', '1.2M']);
  expect([0, 0.000_021, 0.0123, 0.099, 3.4].map(dollars)).toEqual(['$0', '$0.000021', '$0.012', '$0.099', '$3.40']);
});
