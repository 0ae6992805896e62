// What commands do to the open request beyond going somewhere.
import { asFault, type EarlierWrite, type Models, type WriteRow } from '../host/host';
import type { Tab } from '../place';
import type { AppModel } from './app.svelte';
import { flagsOf, linkOf } from './link';

export type StepTo = 'previousEnd' | 'nextEnd' | 'nextFailure';

/** Moves the slider to where a block ended, or failed; past the last failure the first one comes again. */
export async function step(app: AppModel, to: StepTo): Promise<void> {
  const { instant, request } = app;
  const { id } = request;
  const found = await app.try(async () => {
    const next = await request.step(instant, to);
    return next === null && to === 'nextFailure' ? request.step(0, to) : next;
  });
  if (id !== request.id || found === undefined) return;
  const failed = found !== null && to === 'nextFailure' ? await blockOfEvent(app, id, found) : null;
  if (failed !== null && id === request.id) app.select(failed, 'replace');
  else if (found !== null) app.seek(found);
  else if (to === 'previousEnd') app.seek(request.start || 1);
  else if (to === 'nextEnd') app.seek(request.seq);
}

/** Shows the start or the end of the selected block. */
export function showSelected(app: AppModel, at: 'start' | 'end'): void {
  const { selected: block, request, detail } = app;
  if (block === null) return;
  const read = detail.answer?.block;
  const known = request.rows.find(block) ?? (read?.instanceId === block ? read : null);
  app.select(block, 'replace', at === 'start' && known ? { seq: known.seqStart } : {});
}

/** The block that an event is of; null for one of the request itself. */
async function blockOfEvent(app: AppModel, request: string | null, seq: number): Promise<string | null> {
  const [event] = request === null ? [] : await app.host.events(request, seq, 1).catch(() => []);
  return event?.instanceId ?? null;
}

/** Selects the block that wrote, at the instant from which on the value holds: durable state is committed at its end. */
export async function showWrite(app: AppModel, write: Pick<WriteRow, 'seq' | 'committed'>): Promise<void> {
  const { request } = app;
  const { id } = request;
  const seq = write.committed;
  const block = await blockOfEvent(app, id, write.seq);
  const [row] = block === null ? [] : ((await app.try(() => request.rowsOf([block]))) ?? []);
  if (id !== request.id) return;
  if (block === null) app.route.go({ seq });
  else app.select(block, 'push', row?.seqEnd === seq ? {} : { seq });
}

/** Opens a request; true once its page is on screen, false if the window went elsewhere meanwhile. */
export async function arriveAt(app: AppModel, request: string, session: string | null = null): Promise<boolean> {
  if (app.request.id !== request || app.route.next !== null) app.openRequest(session, request);
  await app.route.settled();
  return app.request.id === request;
}

/** As `showWrite`, of a write of another request. */
export async function showEarlierWrite(app: AppModel, { sessionId, requestId, write }: EarlierWrite): Promise<void> {
  const block = await blockOfEvent(app, requestId, write.seq);
  app.openRequest(sessionId, requestId, { seq: write.committed, block });
}

/** The tabs of the open request: only one of an agent has turns, and only one whose model answers with Calls has those. */
export function tabsOf(app: AppModel): Tab[] {
  const { request, stateAt } = app;
  return [
    'timeline',
    'items',
    'state',
    'events',
    'journal',
    'checkpoints',
    ...(stateAt.answer?.state.agent ? ['agent' as const] : []),
    ...(request.counts.ticks > 0 ? ['calls' as const] : []),
  ];
}

/** Copies the command line that opens a window at this place. */
export async function copyLink(app: AppModel): Promise<void> {
  const folder = app.workspace.info.answer;
  if (!folder) return;
  const link = linkOf(app.route.current, folder, app.request.rows.blocks());
  await app.try(async () => {
    await navigator.clipboard.writeText(link);
    app.window.said = `Copied: ${link}`;
  });
}

/** Has the flows of the open folder loaded, now and whenever it is opened again. Views of before are closed by it. */
export async function trustFolder(app: AppModel, dir: string): Promise<void> {
  await app.host.trustWorkspace(dir);
  reload(app);
}

/** How often opening again fails in silence: somebody may be making the database just now. */
const MAX_FAILURES = 10;
let isReopening = false;
let failures = 0;

/** Reads everything again of a folder whose database is only read and was changed by somebody. */
export async function reopenFolder(app: AppModel): Promise<void> {
  const folder = app.workspace.info.answer;
  if (!folder || app.workspace.info.busy || isReopening) return;
  isReopening = true;
  const began = performance.now();
  try {
    const opened = await app.host.reopenWorkspace(folder.dir);
    failures = 0;
    // Another one may have been chosen meanwhile.
    if (opened.dir === folder.dir && app.workspace.info.answer?.dir === folder.dir) reload(app);
  } catch (thrown) {
    failures += 1;
    if (failures === MAX_FAILURES) app.faults.add(asFault(thrown));
  }
  // It is told twice a second; what takes long is not done all the time.
  await new Promise((resolve) => setTimeout(resolve, 2 * (performance.now() - began)));
  isReopening = false;
}

function reload(app: AppModel) {
  app.workspace.load();
  app.requests.refresh();
  app.request.reload();
  app.items.again();
}

/** Opens the flows that the program brings along. */
export async function openExamples(app: AppModel): Promise<void> {
  app.entered(await app.host.openExamples());
}

/** Lets a person choose a folder in the system's own dialog; false where none was chosen. */
export async function pickFolder(app: AppModel): Promise<boolean> {
  const dir = await app.host.pickFolder();
  if (dir !== null) await app.openWorkspace(dir);
  return dir !== null;
}

/** Lets a person choose a file in the system's own dialog: one to read, or where to write; null where none was chosen. */
export const pickFile = async (app: AppModel, proposed: string | null): Promise<string | null> =>
  (await app.try(() => app.host.pickFile(proposed))) ?? null;

/**
 * Goes on with a request at once. What may have happened already and would happen again, or what a resume would refuse,
 * is shown first, in the sheet.
 */
export async function resumeNow(app: AppModel, { id, sessionId }: Resumed, models: Models = 'inherit'): Promise<void> {
  await app.try(async () => {
    const plan = await app.host.planResume(id, { models });
    const isOpen = await arriveAt(app, id, sessionId);
    if (plan.error || plan.mayHaveHappened.length > 0) {
      if (isOpen) app.window.sheet = 'resume';
      return;
    }
    await app.host.resume(id, { models });
    // What runs now is followed, not what it was resumed from.
    if (app.request.id === id) app.route.go({ seq: null, block: null });
    app.workspace.reloadSessions();
  });
}

type Resumed = { id: string; sessionId: string };

export async function abort(app: AppModel): Promise<void> {
  const { id } = app.request;
  if (id) await app.try(() => app.host.abort(id));
}

/** Opens a request at one of its events, with the block that the event is of. */
export async function openAtEvent(app: AppModel, request: string, seq: number | null): Promise<void> {
  const block = seq === null ? null : await blockOfEvent(app, request, seq);
  app.findRequest(request, { seq, tab: 'timeline', block });
}

/** Shows the session whole; at the request that is open, if one is. */
export function openConversation({ route, request, session }: AppModel): void {
  if (session === null) return;
  const from = route.place.request === null ? null : request.id;
  route.to({ at: 'conversation', session, audience: route.place.audience, from });
}

/** Opens another window at what is open here; with a pane, one that shows only that. */
export function openWindow(app: AppModel, pane: 'inspector' | null = null): void {
  const { current } = app.route;
  if (current.at !== 'request') return;
  void app.try(() => app.host.openWindow(flagsOf({ ...current, pane }, app.request.rows.blocks())));
}
