import { expect, test } from 'vitest';
import { dropOf } from './drop';

test.each([
  ['room below', { top: 100, bottom: 130 }, { side: 'below', height: 240 }],
  ['the last line of the window', { top: 560, bottom: 590 }, { side: 'above', height: 240 }],
  ['too little on both sides, more above', { top: 400, bottom: 430 }, { side: 'above', height: 240 }],
  ['no room anywhere', { top: 0, bottom: 600 }, { side: 'below', height: 0 }],
])('%s', (_, field, drop) => expect(dropOf(field, 600, 240)).toEqual(drop));

test('a list that is higher than the larger side is cut to it', () => {
  expect(dropOf({ top: 100, bottom: 130 }, 200, 500)).toEqual({ side: 'above', height: 96 });
  expect(dropOf({ top: 40, bottom: 70 }, 200, 500)).toEqual({ side: 'below', height: 126 });
});
