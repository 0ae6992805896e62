import { expect, test } from 'vitest';
import { cents, dollars, short } from './amount';

test('amounts are short and say something', () => {
  expect([640, 4100, 12_345, 1_200_000].map(short)).toEqual(['640', '4.1k', '12k', '1.2M']);
  expect([0, 0.000_021, 0.0123, 0.099, 3.4].map(dollars)).toEqual(['$0', '$0.000021', '$0.012', '$0.099', '$3.40']);
  expect([0.145, 0.225, 1.005, 0.0235].map(dollars)).toEqual(['$0.15', '$0.23', '$1.01', '$0.024']);
  expect([0.000_063, 0.000_12, 1.5].map(cents)).toEqual(['$0.000063', '$0.000120', '$1.500000']);
});
