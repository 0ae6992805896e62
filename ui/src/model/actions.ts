// What commands do to the open request beyond going somewhere.
import type { Tab } from '../place';
import type { AppModel } from './app.svelte';
import { linkOf } from './link';

export type StepTo = 'previousEnd' | 'nextEnd' | 'nextFailure';

/** Moves the slider to where a block ended, or failed. */
export const step = (app: AppModel, to: StepTo): void => void app.step(to);

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

/** Reads everything again of a folder whose database is only read and was changed by somebody. */
export async function reopenFolder(app: AppModel): Promise<void> {
  const folder = app.workspace.info.answer;
  if (!folder || app.workspace.info.busy) return;
  // The notice is told again while it cannot be opened, because somebody makes it just now.
  const isOpen = await app.host.reopenWorkspace(folder.dir).catch(() => null);
  if (isOpen) reload(app);
}

function reload(app: AppModel) {
  app.workspace.load();
  app.request.reload();
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

export async function abort(app: AppModel): Promise<void> {
  const { id } = app.request;
  if (id) await app.try(() => app.host.abort(id));
}
