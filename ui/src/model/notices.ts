// What the window does about a change that the host tells of.
import type { Notice } from '../host/host';
import type { AppModel } from './app.svelte';
import { reopenFolder } from './actions';
import { goneFault } from './gone';

const BUSY = { title: 'Waiting', advice: 'Nothing is lost: whatever runs goes on then.' };

export function heed(app: AppModel, notice: Notice): void {
  if (notice.kind === 'outdated') return void reopenFolder(app);
  if (notice.kind === 'removed') return app.workspace.info.ask(null, true);
  if (notice.kind === 'flows') {
    app.workspace.reloadFlows();
    return app.verification.changed();
  }
  if (notice.kind === 'busy')
    return app.faults.tell(
      `Another process keeps ${notice.workspace} locked. What you run waits until it lets go.`,
      BUSY,
    );
  if (notice.kind === 'halted') return app.faults.add({ kind: 'storage', message: notice.message });
  app.workspace.reloadSessions();
  app.runs.changed();
  if (notice.kind === 'sessions') {
    app.verification.requestsChanged();
    app.experiments.requestsChanged();
    app.window.conversation?.changed();
    return void confirm(app);
  }
  if (notice.sessionId === app.session) app.requests.refresh(notice.requestId);
  if (notice.sessionId === app.window.conversation?.session) app.window.conversation.changed(notice.requestId);
}

/** Says so where the request that is looked at was deleted. */
async function confirm({ host, request }: AppModel) {
  const { row } = request;
  const fault = row && (await goneFault(host, row));
  if (fault && row.id === request.id) request.fault = fault;
}
