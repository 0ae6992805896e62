// Where a person arrives: at the newest request of a session, or at the form of an action that is to run again.
import type { AppModel } from './app.svelte';

/** A session is opened at its newest request; one that has none stays as it is. */
export async function openNewest(app: AppModel, session: string): Promise<void> {
  if (app.route.current.at !== 'session') return;
  const [newest] = (await app.try(() => app.host.requests({ session, limit: 1, offset: 0 }))) ?? [];
  const { place } = app.route;
  if (newest && place.session === session && !place.request) app.route.toRequest(newest.id, session, 'replace');
}

/** Opens the form of a request's action with what that request was asked. */
export async function runAgain(app: AppModel): Promise<void> {
  const { row, root } = app.request;
  if (!row) return;
  const detail = root ? await app.try(() => app.host.block(row.id, root)) : undefined;
  const { flow, action, userId, sessionId, projectId, mock } = row;
  app.route.to({ at: 'run', flow, action });
  app.template = { flow, action, userId, sessionId, projectId, mock, input: detail?.input };
}
