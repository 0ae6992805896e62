import { expect, test, vi } from 'vitest';
import type { Host, ListedSession } from '../host/host';
import { SESSION_PAGE, SessionPages } from './session-pages.svelte';

/** A host whose sessions are counted down, the newest first. */
function hostOf(count: number) {
  const rows = Array.from({ length: count }, (_, n) => ({ id: `s${count - n}` }) as ListedSession);
  const sessions = vi.fn(async ({ offset, limit }: Parameters<Host['sessions']>[0]) =>
    rows.slice(offset, offset + limit),
  );
  return { rows, sessions, pages: new SessionPages({ sessions } as unknown as Host) };
}

const settled = (pages: SessionPages) => vi.waitFor(() => expect(pages.busy).toBe(false), { timeout: 3000 });

test('pages are added at the end, and no page is read for more than it holds', async () => {
  const { sessions, pages } = hostOf(250);
  pages.reload();
  await settled(pages);
  expect([pages.answer?.length, pages.hasMore]).toEqual([100, true]);
  pages.more();
  await settled(pages);
  pages.more();
  await settled(pages);
  expect([pages.answer?.length, pages.hasMore]).toEqual([250, false]);
  expect(sessions.mock.calls.every(([{ limit }]) => limit === SESSION_PAGE)).toBe(true);
});

test('what is new comes to the front, and what was read stays below it', async () => {
  const { rows, pages } = hostOf(250);
  pages.reload();
  await settled(pages);
  pages.more();
  await settled(pages);
  rows.unshift({ id: 'new' } as ListedSession);
  const [moved] = rows.splice(50, 1);
  rows.unshift(moved as ListedSession);
  pages.reload();
  await settled(pages);
  expect(pages.answer?.slice(0, 2).map((one) => one.id)).toEqual([moved?.id, 'new']);
  expect(new Set(pages.answer?.map((one) => one.id)).size).toBe(pages.answer?.length);
  expect(pages.answer).toHaveLength(201);
});

test('what is deleted from the front goes', async () => {
  const { rows, pages } = hostOf(20);
  pages.reload();
  await settled(pages);
  rows.splice(3, 2);
  pages.reload();
  await settled(pages);
  expect(pages.answer).toHaveLength(18);
});

test('another filter begins at the front, and an answer that is late is dropped', async () => {
  const { sessions, pages } = hostOf(250);
  let late: (rows: ListedSession[]) => void = () => {};
  sessions.mockImplementationOnce(() => new Promise((resolve) => (late = resolve)));
  pages.reload();
  pages.find({ search: 'bees', days: 7 });
  await settled(pages);
  late([{ id: 'late' } as ListedSession]);
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(pages.answer?.[0]?.id).toBe('s250');
  const [query] = sessions.mock.calls.at(-1) ?? [];
  expect(query).toMatchObject({ search: 'bees', offset: 0, sort: 'changed' });
  expect(query?.since).toBeGreaterThan(Date.now() - 8 * 86_400_000);
  expect(pages.narrowed).toBe(1);
});
