import { expect, test } from 'vitest';
import type { ListedRequest, ListedSession } from '../../host/host';
import { about } from '../../model/session';
import { rows as rowSize } from '../../base/density.svelte';
import { heightOf, lookOfRow, rowsOf } from './rows';

const sessions = ['a', 'b'].map((id) => ({ id, requests: 250 }) as ListedSession);
const requests = { rows: [{ id: 'r' } as ListedRequest], hasMore: false };
const none = { rows: null, hasMore: false };
const order = { hasMore: false, now: 0, dayOf: null };

test('requests stand below the open session', () => {
  expect(rowsOf(sessions, 'a', requests, order).map((row) => row.id)).toEqual(['session a', 'request r', 'session b']);
  expect(rowsOf(sessions, null, requests, order)).toHaveLength(2);
});

test('a session of one request is that request', () => {
  const [one] = sessions.map((session) => ({ ...session, requests: 1 }));
  expect(rowsOf([one as ListedSession], 'a', requests, order)).toHaveLength(1);
});

test('more is the last row', () =>
  expect(rowsOf(sessions, null, none, { ...order, hasMore: true }).at(-1)?.is).toBe('more'));

test('what is not read yet of the open session is counted below its requests', () => {
  const rows = rowsOf(sessions, 'a', { ...requests, hasMore: true }, order);
  expect(rows[2]).toEqual({ is: 'more requests', id: 'more requests', left: 249 });
  expect(rows[3]?.id).toBe('session b');
});

test('sessions stand under their days', () => {
  const noon = new Date(2026, 4, 20, 12).getTime();
  const at = [0, 1, 26, 27, 50].map((hours) => noon - hours * 3_600_000);
  const found = rowsOf(
    at.map((updatedAt, n) => ({ id: `s${n}`, updatedAt }) as ListedSession),
    null,
    none,
    { ...order, now: noon, dayOf: (session) => session.updatedAt },
  );
  const shown = found.map((row) => (row.is === 'day' ? row.name : row.id));
  expect(shown).toEqual([
    'Today',
    'session s0',
    'session s1',
    'Yesterday',
    'session s2',
    'session s3',
    'Monday',
    'session s4',
  ]);
});

test('a session is about its title, or what was asked', () => {
  expect(about({ id: 's', title: 'T', words: 'w' } as ListedSession)).toBe('T');
  expect(about({ id: 's', words: 'w' } as ListedSession)).toBe('w');
  expect(about({ id: 's' } as ListedSession)).toBe('s');
  expect(about({ id: 'ephemeral_1795837061799_a5761d' } as ListedSession)).toBe('');
});

test('a smaller density takes room from sessions and their requests, and none from the names of days', () => {
  const heights = () => (['day', 'session', 'request'] as const).map(heightOf);
  rowSize.density = 'comfortable';
  expect(heights()).toEqual([26, 44, 28]);
  rowSize.density = 'compact';
  expect(heights()).toEqual([26, 38, 24]);
  rowSize.density = 'comfortable';
});

test('sessions read alike if their action, words, status and error are the same', () => {
  const one = { id: 'a', flow: 'refund', lastAction: 'ask', words: '17', lastStatus: 'completed', updatedAt: 5 };
  const row = one as unknown as ListedSession;
  const other = { ...row, id: 'b', updatedAt: 7 };
  expect(lookOfRow(other)).toEqual({ id: 'b', looks: lookOfRow(row).looks, at: 7 });
  expect(lookOfRow({ ...row, words: '18' }).looks).not.toBe(lookOfRow(row).looks);
  expect(lookOfRow({ ...row, forkedFrom: 'c' }).looks).not.toBe(lookOfRow(row).looks);
});
