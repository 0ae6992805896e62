import { afterEach, expect, test, vi } from 'vitest';
import { Faults, faultWords, formWords } from './faults.svelte';

afterEach(() => vi.useRealTimers());

test('a note goes after a while, unless somebody is at it', () => {
  vi.useFakeTimers();
  const faults = new Faults();
  faults.add({ kind: 'refused', message: 'one' });
  expect(faults.notes).toHaveLength(1);
  faults.isHeld = true;
  vi.advanceTimersByTime(60_000);
  expect(faults.notes).toHaveLength(1);
  faults.isHeld = false;
  vi.advanceTimersByTime(20_000);
  expect(faults.notes).toEqual([]);
});

test('a note that was dismissed lets go of the others', () => {
  vi.useFakeTimers();
  const faults = new Faults();
  faults.add({ kind: 'refused', message: 'one' });
  faults.add({ kind: 'refused', message: 'two' });
  faults.isHeld = true;
  faults.dismiss(faults.notes[0]?.id ?? 0);
  vi.advanceTimersByTime(40_000);
  expect(faults.notes).toEqual([]);
});

test('only a form speaks of marked fields', () => {
  const fault = { kind: 'invalid' as const, message: 'a tag has at most 64 characters', details: [] };
  expect(faultWords(fault)).toMatchObject({
    title: 'Not valid',
    advice: 'Nothing was changed. Correct it and try again.',
  });
  expect(formWords(fault).advice).toContain('marked fields');
  expect(formWords({ kind: 'refused', message: '' }).title).toBe('Refused');
});
