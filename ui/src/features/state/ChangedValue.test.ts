import { cleanup, render } from '@testing-library/svelte';
import { afterEach, expect, test } from 'vitest';
import { moment } from '../../base/time';
import ChangedValue from './ChangedValue.svelte';
import type { Marked } from './tree';

afterEach(cleanup);

function shown(old: unknown, now: unknown): string {
  const change: Marked = { kind: 'changed', old, new: now, by: null, seq: null, isByAnother: false } as Marked;
  const { container } = render(ChangedValue, { props: { change } });
  return (container.textContent ?? '').replace(/\s+/g, ' ').trim();
}

test('times that changed are shown as times, with the time between them', () => {
  const old = 1_796_010_997_118;
  expect(shown(old, old + 187_000)).toBe(`${moment(old)} → ${moment(old + 187_000)} (+3 m 07 s)`);
});

test('other numbers keep their difference', () => {
  expect(shown(3, 1)).toBe('3 → 1 (−2)');
});
