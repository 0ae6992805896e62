import { expect, test } from 'vitest';
import type { Filtered } from '../host/host';
import { RowFilter } from './row-filter.svelte';

const three: Filtered = { rows: 5, matches: 3 };

test('the newer of two filters wins, whichever answer arrives first', async () => {
  const filter = new RowFilter();
  let answer: (filtered: Filtered) => void = () => {};
  const older = filter.show('a', () => new Promise((resolve) => (answer = resolve)));
  await filter.show('ab', () => Promise.resolve(three));
  answer({ rows: 9, matches: 9 });
  await older;
  expect(filter).toMatchObject({ text: 'ab', matches: 3 });
});

test('a view that was opened with an older filter gets the newer one', async () => {
  const filter = new RowFilter();
  filter.begin('a');
  await filter.show('ab', () => Promise.resolve(null));
  filter.opened('a', three);
  expect(filter).toMatchObject({ text: 'a', matches: 3 });
  await filter.show('ab', () => Promise.resolve({ rows: 2, matches: 1 }));
  expect(filter).toMatchObject({ text: 'ab', matches: 1 });
});

test('an invalid filter of an opened view filters nothing', () => {
  const filter = new RowFilter();
  filter.begin('status:lost');
  filter.opened('status:lost', { kind: 'invalid', message: 'unknown' } as never);
  expect(filter).toMatchObject({ text: '', matches: null, fault: { kind: 'invalid' } });
});
