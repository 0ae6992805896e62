// What commands do to the open request beyond going somewhere.
import type { Tab } from '../place';
import type { AppModel } from './app.svelte';
import { hasCalls } from './calls';
import { linkOf } from './link';

export type StepTo = 'previousEnd' | 'nextEnd' | 'nextFailure';

/** Moves the slider to where a block ended, or failed; past the last failure the first one comes again. */
export function step(app: AppModel, to: StepTo): void {
  const { cursor, request } = app;
  if (to === 'previousEnd') app.seek(request.stepBefore(cursor) || 1);
  else if (to === 'nextEnd') app.seek(request.boundaries.find((end) => end > cursor) ?? request.seq);
  else {
    const next = request.errors.find((at) => at > cursor) ?? request.errors[0];
    if (next !== undefined) app.seek(next);
  }
}

/** The tabs of the open request: only one of an agent has turns, and only one whose model answers with Calls has those. */
export function tabsOf(app: AppModel): Tab[] {
  const { request, stateAt } = app;
  return [
    'timeline',
    'items',
    'events',
    ...(stateAt.answer?.state.agent ? ['agent' as const] : []),
    ...(hasCalls(request.blocks) ? ['calls' as const] : []),
  ];
}

/** Copies the command line that opens a window at this place. */
export async function copyLink(app: AppModel): Promise<void> {
  const folder = app.workspace.info.answer;
  if (!folder) return;
  const link = linkOf(app.route.current, folder, app.request.blocks);
  await app.try(async () => {
    await navigator.clipboard.writeText(link);
    app.window.said = `Copied: ${link}`;
  });
}

export async function abort(app: AppModel): Promise<void> {
  const { id } = app.request;
  if (id) await app.try(() => app.host.abort(id));
  app.request.refresh();
}
