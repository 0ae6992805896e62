import { expect, test } from 'vitest';
import type { RequestRow, SessionRow } from '../../host/host';
import { rowsOf } from './rows';

const sessions = ['a', 'b'].map((id) => ({ id }) as SessionRow);
const requests = [{ id: 'r' } as RequestRow];

test('requests stand below the open session', () => {
  expect(rowsOf(sessions, 'a', requests, false).map((row) => row.id)).toEqual(['session a', 'request r', 'session b']);
  expect(rowsOf(sessions, null, requests, false)).toHaveLength(2);
});

test('more is the last row', () => expect(rowsOf(sessions, null, null, true).at(-1)?.is).toBe('more'));
