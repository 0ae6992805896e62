// Lists of the recorded host: its sessions and requests, ordered and narrowed as a window asks for them.
import type { Host, ListedRequest, ListedSession } from './host';
import { lists } from './recorded';
import type { Recording } from './recording';

/** A session as its requests, the newest last, make it. */
export function sessionOf(mine: readonly Recording[], known: ListedSession | undefined): ListedSession {
  const newest = mine[mine.length - 1] as Recording;
  const { id, action, sessionId, flow, userId, projectId, status, startedAt, durationMs, error } = newest.row;
  return {
    ...(lists.sessions.find((one) => one.id === sessionId) ?? (lists.sessions[0] as ListedSession)),
    id: sessionId,
    flow,
    userId,
    projectId,
    requests: mine.length,
    items: mine.reduce((sum, one) => sum + one.counts(null).all, 0),
    lastStatus: status,
    createdAt: known?.createdAt ?? startedAt,
    updatedAt: startedAt + (durationMs ?? 0),
    lastRequest: id,
    lastAction: action,
    lastDurationMs: durationMs,
    lastError: error,
    words: newest.words,
  };
}

/** What a list shows of a session, which is what is searched. */
const shownOf = ({ id, title, flow, lastAction, userId, words, lastError: error }: ListedSession) =>
  [id, title, `${flow}.${lastAction}`, userId, words, error && `${error.name}: ${error.message}`].join('\n');

export function pageOfSessions(all: Iterable<ListedSession>, query: Parameters<Host['sessions']>[0]): ListedSession[] {
  const wanted = query.search?.toLowerCase() ?? '';
  const by: Record<string, (one: ListedSession) => number> = {
    changed: (one) => one.updatedAt,
    created: (one) => one.createdAt,
    requests: (one) => one.requests,
    items: (one) => one.items,
  };
  const rank = by[query.sort ?? 'changed'] ?? ((one: ListedSession) => one.updatedAt);
  return [...all]
    .filter((one) => !query.flow || one.flow === query.flow)
    .filter((one) => !query.user || one.userId === query.user)
    .filter((one) => !query.project || one.projectId === query.project)
    .filter((one) => !query.status || one.lastStatus === query.status)
    .filter((one) => one.updatedAt >= (query.since ?? 0))
    .filter((one) => shownOf(one).toLowerCase().includes(wanted))
    .sort((a, b) => rank(b) - rank(a))
    .slice(query.offset, query.offset + query.limit)
    .map((one) => ({ ...one }));
}

export function pageOfRequests(all: Iterable<Recording>, query: Parameters<Host['requests']>[0]): ListedRequest[] {
  return [...all]
    .map((one) => ({ ...one.row, words: one.words, changedAt: one.row.startedAt + (one.row.durationMs ?? 0) }))
    .sort((a, b) => (query.byChange ? b.changedAt - a.changedAt : b.startedAt - a.startedAt))
    .filter((one) => !query.flow || one.flow === query.flow)
    .filter((one) => !query.action || one.action === query.action)
    .filter((one) => !query.session || one.sessionId === query.session)
    .filter((one) => !query.status || one.status === query.status)
    .slice(query.offset, query.offset + query.limit);
}
