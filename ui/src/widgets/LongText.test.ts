import { cleanup, fireEvent, render, screen } from '@testing-library/svelte';
import { afterEach, expect, test } from 'vitest';
import LongText from './LongText.svelte';

afterEach(cleanup);

const length = () => screen.queryByTestId('text-length')?.textContent;

test('a long text says how much of it is shown, and a short one does not', async () => {
  const { rerender } = render(LongText, { props: { text: 'x'.repeat(5_000) } });
  expect(length()).toBe('First 1,200 characters of 5,000 characters');
  await fireEvent.click(screen.getByRole('button', { name: 'Show more' }));
  expect(length()).toBe('5,000 characters');
  await rerender({ text: 'short' });
  await fireEvent.click(screen.getByRole('button', { name: 'Show less' }));
  expect(length()).toBeUndefined();
});

test('a part of a text shows the length of the whole text, however much of the part is shown', async () => {
  render(LongText, { props: { text: 'x'.repeat(4_096), part: { end: false, bytes: 1_000_000 } } });
  expect(length()).toBe('First 1,200 characters of 977 KB');
  await fireEvent.click(screen.getByRole('button', { name: 'Show more' }));
  expect(length()).toBe('First 4,096 characters of 977 KB');
  expect(screen.getByRole('button', { name: 'Copy this part of the text' })).toBeTruthy();
});

test('characters that change the direction of text are escaped, and line breaks and joined emoji stay', () => {
  render(LongText, { props: { text: 'pay \u202egro.live\u2069\nfamily 👩\u200d👧' } });
  expect(document.body.textContent).toContain('pay \\u202egro.live\\u2069\nfamily 👩\u200d👧');
});

test('a growing text is shown up to its last word', () => {
  render(LongText, { props: { text: `${'x'.repeat(4_000)} newest`, part: { end: true, bytes: 1_000_000 } } });
  expect(document.body.textContent).toContain('newest');
  expect(length()).toBe('Last 4,007 characters of 977 KB');
});
