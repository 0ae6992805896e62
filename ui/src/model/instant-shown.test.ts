import { expect, test } from 'vitest';
import { NOWHERE } from '../place';
import { instantShown, lastShown, seqShown, spanOf } from './instant-shown';

const known = { seq: 90, start: 2, live: false, root: 'r:root:0', block: { seqStart: 10, seqEnd: 30 } };
const place = (more = {}) => ({ ...NOWHERE, request: 'r', block: 'r:root/step:a:0', ...more });

test('a selected block shows the state at its end, compared with its start', () => {
  expect(instantShown('r', place(), known)).toEqual({ request: 'r', seq: 30, base: 9, isWhole: false });
  expect(instantShown('r', place({ base: 4 }), known)).toMatchObject({ seq: 30, base: 4 });
});

test('a chosen event goes before the end of a block', () => {
  expect(instantShown('r', place({ seq: 5 }), known)).toMatchObject({ seq: 5, base: null });
  expect(seqShown(place({ seq: 500 }), known)).toBe(90);
});

test.each([
  ['no block', place({ block: null }), known],
  ['a block that runs', place(), { ...known, block: { seqStart: 10, seqEnd: null } }],
  ['a block that was not read yet', place(), { ...known, block: null }],
])('%s shows the newest event', (_, at, known) => {
  expect(instantShown('r', at, known)).toMatchObject({ seq: 90, base: null, isWhole: true });
});

test('the root shows the state at its end, compared with the start of the request', () => {
  const root = place({ block: 'r:root:0' });
  expect(instantShown('r', root, known)).toEqual({ request: 'r', seq: 30, base: null, isWhole: true });
});

test('the last event is shown though a block is selected that ended before', () => {
  expect(lastShown(place(), known)).toEqual({ seq: 90, block: 'r:root/step:a:0' });
  expect(lastShown(place({ seq: 5 }), known)).toMatchObject({ seq: 90 });
  expect(lastShown(place(), { ...known, live: true })).toEqual({ seq: null, block: null });
  expect(lastShown(place({ block: 'r:root:0' }), known)).toEqual({ seq: 90, block: 'r:root:0' });
  expect(lastShown(place({ block: null, seq: 5 }), known)).toEqual({ seq: null, block: null });
});

test('a block that ends again tells of its newest end', () => {
  const read = { seqStart: 19, seqEnd: 30 };
  const row = (status: string, seqEnd: number | null) => ({ seqStart: 19, seqEnd, status });
  // It goes on: what was read of it is of before.
  expect(spanOf(row('running', null), read, true)?.seqEnd).toBeNull();
  expect(spanOf(row('suspended', 40), read, true)?.seqEnd).toBe(40);
  // A row as of an earlier instant knows no end.
  expect(spanOf(row('running', null), read, false)?.seqEnd).toBe(30);
  expect(spanOf(undefined, read, true)?.seqEnd).toBe(30);
  expect(spanOf(undefined, null, true)).toBeNull();
});
