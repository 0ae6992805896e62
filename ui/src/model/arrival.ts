// Where a person arrives: at the newest request of a session, at the block that failed or asks, or at the form of an
// action that is to run again.
import type { Route } from '../place';
import type { AppModel } from './app.svelte';

/** Reads what a place shows, while the page before it stays. A session is arrived at at its newest request. */
export async function readFirst(app: AppModel, route: Route): Promise<Route> {
  const target = route.at === 'session' ? await newestOf(app, route) : route;
  if (target.at === 'request' && target.request !== app.request.id)
    await app.request.prepare(target.request, target.filter);
  return target;
}

/** The newest request of a session; one that has none stays as it is. */
async function newestOf({ host, route }: AppModel, place: Route & { at: 'session' }): Promise<Route> {
  // The page says why a session cannot be read.
  const [newest] = await host.requests({ session: place.session, limit: 1, offset: 0 }).catch(() => []);
  return newest ? route.requestRoute(newest.id, place.session) : place;
}

/** Goes to the newest request of the session with which the window was opened. */
export async function openNewest(app: AppModel): Promise<void> {
  const { route } = app;
  const { current } = route;
  if (current.at !== 'session') return;
  const newest = await newestOf(app, current);
  if (route.current === current && route.next === null) route.to(newest, 'replace');
}

/** The end of the open request that a cause was looked for of, and the answer with which it was opened. */
const ends = new WeakMap<AppModel, { end: string; opened: unknown }>();

/**
 * Selects the block that a person looks for in a request that ended: the one that failed, or the one that asks. An
 * address that names a block or an instant keeps them, and what a person selects after that stays.
 */
export async function selectCause(app: AppModel): Promise<void> {
  const { request, route, host } = app;
  const { id, row, seq, live } = request;
  const hasCause = !live && (row?.status === 'suspended' || row?.error?.path != null);
  const end = `${id} ${hasCause ? seq : 'without'}`;
  const { opened } = request;
  const before = ends.get(app);
  // A request that is opened again is looked at anew.
  const isNew = before?.end !== end || before.opened !== opened;
  ends.set(app, { end, opened });
  const isFree = () => route.place.request === id && route.place.block === null && route.place.seq === null;
  if (!row || !hasCause || !isNew || !isFree()) return;
  // The first paint shows it where the answer that opened the request named it.
  if (opened?.seq === seq && opened.cause) return app.select(opened.cause, 'replace');
  const asked =
    row.status === 'suspended' && !host.isCopy ? host.suspensions({ request: id, status: 'pending' }) : null;
  const questions = (await asked?.catch(() => [])) ?? [];
  const path = questions.find((one) => one.requestId === id)?.path ?? row.error?.path;
  const found = path ? await request.rowOf({ path }).catch(() => null) : null;
  if (found?.instanceId && request.id === id && isFree()) app.select(found.instanceId, 'replace');
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
