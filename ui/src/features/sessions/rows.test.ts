import { expect, test } from 'vitest';
import type { RequestRow, SessionRow } from '../../host/host';
import { rowsOf } from './rows';

const sessions = ['a', 'b'].map((id) => ({ id, requests: 250 }) as SessionRow);
const requests = { rows: [{ id: 'r' } as RequestRow], hasMore: false };
const none = { rows: null, hasMore: false };

test('requests stand below the open session', () => {
  expect(rowsOf(sessions, 'a', requests, false).map((row) => row.id)).toEqual(['session a', 'request r', 'session b']);
  expect(rowsOf(sessions, null, requests, false)).toHaveLength(2);
});

test('more is the last row', () => expect(rowsOf(sessions, null, none, true).at(-1)?.is).toBe('more'));

test('what is not read yet of the open session is counted below its requests', () => {
  const rows = rowsOf(sessions, 'a', { ...requests, hasMore: true }, false);
  expect(rows[2]).toEqual({ is: 'more requests', id: 'more requests', left: 249 });
  expect(rows[3]?.id).toBe('session b');
});
