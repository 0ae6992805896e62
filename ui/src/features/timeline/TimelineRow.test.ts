import { cleanup, render, screen } from '@testing-library/svelte';
import { afterEach, expect, test } from 'vitest';
import { FakeHost } from '../../host/fake';
import type { ViewRow } from '../../host/host';
import TimelineRow from './TimelineRow.svelte';

afterEach(cleanup);

async function show(change: Partial<ViewRow>, more = {}) {
  const { page } = await new FakeHost(0, 0, true).openView('req-2');
  const props = {
    id: 'row',
    row: { ...page[1]!, label: 'step:summarize-the-sources', ...change },
    index: 0,
    height: 28,
    nameWidth: 200,
    numberWidth: 96,
    since: (at: number) => at,
    time: { now: 0, instant: null },
    chosen: false,
    filtered: false,
    colour: 'status' as const,
    onselect: () => {},
    onfold: () => {},
    ...more,
  };
  render(TimelineRow, { props });
}

test('which execution it is gives way to the name of the block', async () => {
  await show({ attempt: 1, memoized: true, status: 'completed' });
  const note = screen.getByTestId('row-note');
  expect(note.textContent).toBe('attempt 1 = from the log');
  expect(note.title).toBe('attempt 1: Answered from the log; it did not run again');
  // Where there is too little room, the note is what becomes shorter.
  expect(note.className).toMatch(/\bmin-w-0 shrink-\[1000000\] truncate\b/);
  expect(screen.getByText('summarize-the-sources').className).not.toMatch(/\bshrink-/);
});

test('a first execution has no note, and one that is not begun was not resumed', async () => {
  await show({ attempt: 0, memoized: false });
  expect(screen.queryByTestId('row-note')).toBeNull();
  cleanup();
  await show({ attempt: 1, memoized: true, status: null });
  expect(screen.getByTestId('row-note').textContent).toBe('attempt 1');
});

test('a row that a filter left alone does not look as if it could be folded', async () => {
  await show({ hasChildren: true, isFolded: false }, { filtered: true, hasInside: false });
  expect(screen.getByTestId('timeline-row').getAttribute('aria-expanded')).toBeNull();
  cleanup();
  await show({ hasChildren: true, isFolded: false }, { filtered: true });
  expect(screen.getByTestId('timeline-row').getAttribute('aria-expanded')).toBe('true');
});

test('a turn shows the words that tell it from the others', async () => {
  await show({ label: 'forEach:read[2]', words: 'A-200' });
  expect(screen.getByTestId('row-words').textContent).toBe('A-200');
  expect(screen.getByText('[2]')).toBeTruthy();
  cleanup();
  // Words of a block without an index would only repeat its input.
  await show({ label: 'step:plan', words: 'A-200' });
  expect(screen.queryByTestId('row-words')).toBeNull();
});

test('words that would be cut leave the name its room, and are still read', async () => {
  await show({ label: 'forEach:read[2]', words: 'The lamp of order A-200 is broken' }, { nameWidth: 157 });
  expect(screen.queryByTestId('row-words')).toBeNull();
  const words = screen.getByText('The lamp of order A-200 is broken');
  expect(words.className).toBe('sr-only');
});

test('the first of several turns has an index as well', async () => {
  await show({ label: 'step:ask' }, { isFirst: true });
  expect(screen.getByText('[0]')).toBeTruthy();
});

test('a group shows how long its turns took, and which of them failed', async () => {
  const durations = { from: 305, to: 430, cells: [1, 4], failures: [0, 1] };
  const group = { of: 'turns' as const, count: 5, failed: 1, running: 0, suspended: 0, cells: [], failures: [] };
  await show({ label: 'forEach:read', group: { ...group, durations } });
  const shown = screen.getByTestId('group-durations');
  expect(shown.title).toBe('5 turns took 305 ms to 430 ms; 1 of them failed');
  expect([...shown.querySelectorAll('rect')].map((one) => one.getAttribute('class'))).toEqual([
    'fill-idle',
    'fill-idle',
    'fill-bad',
  ]);
  cleanup();
  await show({ label: 'forEach:read', group });
  expect(screen.queryByTestId('group-durations')).toBeNull();
});
