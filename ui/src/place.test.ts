import { expect, test } from 'vitest';
import { formatPlace, NOWHERE, parsePlace, type Place } from './place';

const place = (some: Partial<Place>): Place => ({ ...NOWHERE, ...some });

test.each([
  place({}),
  place({ flow: 'chat', action: 'send message' }),
  place({ session: 's1', request: 'r1', seq: 12, block: 'r1:root/step:a:1', tab: 'items', audience: 'trace' }),
])('a place survives its address: %o', (one) => expect(parsePlace(formatPlace(one))).toEqual(one));

test('nowhere has the shortest address', () => expect(formatPlace(NOWHERE)).toBe('#'));

test('nonsense is a place too', () => {
  expect(parsePlace('#seq=-3&tab=nope&audience=%%%')).toEqual(NOWHERE);
  expect(parsePlace('')).toEqual(NOWHERE);
});
