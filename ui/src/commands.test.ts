// Sessions in the palette: the input or the title, then the action, the status and the time.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { entriesOf, searchEntry } from './commands';
import { FakeHost } from './host/fake';
import type { ListedSession } from './host/host';
import { AppModel } from './model/app.svelte';
import { Router } from './model/route.svelte';

let app: AppModel;
beforeEach(() => {
  history.replaceState(null, '', '#');
  app = new AppModel(new FakeHost(0, 0), new Router(window));
});
afterEach(() => app.stop());

const shown = (session: Partial<ListedSession>) => {
  const all = { id: 'ses_01JZ9QXW', flow: 'research', lastAction: 'ask', lastStatus: 'completed', userId: 'ada' };
  app.workspace.sessions.answer = [{ ...all, updatedAt: Date.now() - 120_000, ...session } as ListedSession];
  return entriesOf(app, '').find((one) => one.group === 'Session');
};

test('a session is named by its title or its input, never by its id', () => {
  expect(shown({ words: 'How do cities cool down?' })?.title).toBe('How do cities cool down? · research.ask');
  expect(shown({ title: 'Cool cities', words: 'How?' })?.title).toBe('Cool cities · research.ask');
  expect(shown({ words: null })?.title).toBe('research.ask · ada');
  expect(shown({ words: 'How?', forkedFrom: { sessionId: 's' } as never })?.title).toBe('How? · research.ask (fork)');
  expect(shown({ words: 'How?', lastStatus: 'failed' })?.hint).toMatch(/^Failed · 2 min/);
});

test('sessions with equal names show their times', () => {
  const at = new Date(2026, 4, 3, 9, 5, 7).getTime();
  const one = { flow: 'refund', lastAction: 'ask', lastStatus: 'completed', userId: 'ada', words: 'Lamp' };
  app.workspace.sessions.answer = [0, 1].map((n) => ({ ...one, id: `s${n}`, updatedAt: at + n * 1_000 }) as never);
  const hints = entriesOf(app, '').flatMap(({ group, hint }) => (group === 'Session' ? [hint] : []));
  expect(hints).toEqual(['Completed · 09:05:07', 'Completed · 09:05:08']);
});

test('a text without matching names offers a search of all runs', async () => {
  expect([searchEntry(app, ' '), searchEntry(app, 'desk lamp')]).toEqual([null, null]);
  app.workspace.load();
  await vi.waitFor(() => expect(app.workspace.info.answer).not.toBeNull());
  const entry = searchEntry(app, ' desk lamp ');
  expect(entry?.title).toBe('Search all runs for “desk lamp”');
  entry?.run();
  expect([app.window.sheet, app.window.searchFor]).toEqual(['search', 'desk lamp']);
});
