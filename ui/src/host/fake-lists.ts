// Lists of the recorded host: its sessions and requests, as the Rust side would order and narrow them.
import type { Host, Json, ListedRequest, ListedSession } from './host';
import type { Recording } from './recording';

/** The first words of what a request was asked. */
export function wordsOf(recording: Recording): string | null {
  const input = recording.events[0]?.payload as { input?: Json } | undefined;
  const found = typeof input?.input === 'string' ? input.input : (input?.input as { topic?: Json } | undefined)?.topic;
  return typeof found === 'string' ? found.slice(0, 120) : null;
}

/** A session as its requests, the newest last, make it. */
export function sessionOf(mine: readonly Recording[], known: ListedSession | undefined, at: number): ListedSession {
  const newest = mine[mine.length - 1] as Recording;
  const { id, action, sessionId, flow, userId, projectId, status, durationMs, error } = newest.row;
  return {
    id: sessionId,
    flow,
    userId,
    projectId,
    title: known?.title ?? null,
    requests: mine.length,
    items: mine.reduce((sum, one) => sum + one.items('all').length, 0),
    lastStatus: status,
    createdAt: known?.createdAt ?? at,
    updatedAt: at,
    forkedFrom: null,
    lastRequest: id,
    lastAction: action,
    lastDurationMs: durationMs,
    lastError: error,
    words: wordsOf(newest),
  };
}

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
    .filter((one) => `${one.id} ${one.title ?? ''} ${one.flow} ${one.userId}`.toLowerCase().includes(wanted))
    .sort((a, b) => rank(b) - rank(a))
    .slice(query.offset, query.offset + query.limit)
    .map((one) => ({ ...one }));
}

export function pageOfRequests(all: Iterable<Recording>, query: Parameters<Host['requests']>[0]): ListedRequest[] {
  return [...all]
    .map((one) => ({ ...one.row, words: wordsOf(one) }))
    .reverse()
    .filter((one) => !query.session || one.sessionId === query.session)
    .filter((one) => !query.status || one.status === query.status)
    .slice(query.offset, query.offset + query.limit);
}
