import { cleanup, fireEvent, render, screen } from '@testing-library/svelte';
import { afterEach, expect, test, vi } from 'vitest';
import ValueTree from './ValueTree.svelte';

afterEach(cleanup);

test('a megabyte of text is shown in part, with its size', async () => {
  const written = vi.spyOn(JSON, 'stringify');
  const { container } = render(ValueTree, { props: { value: { text: 'x'.repeat(1 << 20) }, label: 'state' } });
  expect(container.textContent?.length).toBeLessThan(500);
  expect(container.textContent).toContain('1,048,576 characters');
  await fireEvent.click(screen.getAllByRole('treeitem')[1] as HTMLElement);
  expect(container.textContent?.length).toBeLessThan(3000);
  // No part of it is written out beyond what is shown.
  expect(Math.max(...written.mock.results.map(({ value }) => String(value).length))).toBeLessThan(3000);
  written.mockRestore();
});

test('a list of 100,000 entries opens a page at a time', async () => {
  render(ValueTree, { props: { value: Array.from({ length: 100_000 }, (_, n) => n), label: 'list' } });
  await fireEvent.click(screen.getByRole('treeitem'));
  expect(screen.getAllByRole('treeitem')).toHaveLength(102);
  await fireEvent.click(screen.getByText(/Show 100 more/));
  expect(screen.getAllByRole('treeitem')).toHaveLength(202);
});

test('a number that is a time shows which one', () => {
  render(ValueTree, { props: { value: { at: 1_795_780_470_326, n: 17 }, label: 'state' } });
  const [, at, n] = screen.getAllByRole('treeitem').map((row) => row.textContent);
  expect(at).toMatch(/1795780470326\s*2026-11-2\d \d\d:\d\d:\d\d/);
  expect(n).toMatch(/17\s*$/);
});

test('markup in a value stays text', () => {
  const { container } = render(ValueTree, {
    props: { value: { '<b>': '<img src=x onerror=alert(1)>' }, label: 'state' },
  });
  expect(container.querySelector('img, b')).toBeNull();
  expect(container.textContent).toContain('<img src=x');
});

test('keys open and close, and marks are said in words', async () => {
  render(ValueTree, {
    props: { value: { plan: { title: 'x' } }, label: 'state', marks: new Map([['plan.title', 'changed']]) },
  });
  expect(screen.getByText('(changed)')).toBeTruthy();
  const tree = screen.getByRole('tree');
  await fireEvent.keyDown(tree, { key: 'ArrowLeft' });
  expect(screen.getAllByRole('treeitem')).toHaveLength(1);
  await fireEvent.keyDown(tree, { key: 'ArrowRight' });
  expect(screen.getAllByRole('treeitem').length).toBeGreaterThan(1);
});
