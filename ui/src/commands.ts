// Everything the command palette offers: flows, actions, sessions, and what can be done where one is.
import type { AppModel } from './model/app.svelte';
import { hasCalls } from './model/calls';

export type Command = { id: string; group: string; title: string; icon: string; hint?: string; run: () => void };

export function commandsOf(app: AppModel, show: (sheet: 'keys' | 'folder') => void): Command[] {
  const { route, request, workspace } = app;
  const found: Command[] = [];
  const add = (id: string, group: string, title: string, icon: string, run: () => void, hint?: string) =>
    found.push({ id, group, title, icon, run, hint });

  if (request.row) {
    add('tab timeline', 'Command', 'Show the timeline', 'sequencer', () => route.go({ tab: 'timeline' }), '1');
    add('tab items', 'Command', 'Show the items', 'chat', () => route.go({ tab: 'items' }), '2');
    add('tab events', 'Command', 'Show the events', 'change', () => route.go({ tab: 'events' }), '3');
    if (app.stateAt.answer?.state.agent)
      add('tab agent', 'Command', 'Show the agent', 'chat', () => route.go({ tab: 'agent' }), '4');
    if (hasCalls(request.blocks))
      add('tab calls', 'Command', 'Show the Calls', 'flow', () => route.go({ tab: 'calls' }), '5');
    add('live', 'Command', 'Follow the newest event', 'last', () => route.go({ seq: null }), 'l');
    add('again', 'Command', 'Run again with the same input', 'again', () => void app.runAgain());
    if (request.live)
      add('abort', 'Command', 'Abort this request', 'stop', () => void app.try(() => app.host.abort(request.id ?? '')));
  }
  add('keys', 'Command', 'Show the keys', 'keys', () => show('keys'), '?');
  add('folder', 'Command', 'Open another folder', 'folder', () => show('folder'));
  add('log', 'Command', 'Open the log of this program', 'events', () => void app.try(() => app.host.openLog()));
  add('back', 'Command', 'Back', 'left', () => history.back(), 'Alt+←');
  add('forward', 'Command', 'Forward', 'right', () => history.forward(), 'Alt+→');
  if (workspace.info.answer)
    add('link', 'Command', 'Copy a link to this place', 'copy', () => void app.copyLink(), 'flowglass open …');
  for (const flow of workspace.flows.answer ?? []) {
    for (const action of flow.actions) {
      add(`action ${flow.kind}.${action.name}`, 'Run', `${flow.kind}.${action.name}`, 'play', () =>
        app.openAction(flow.kind, action.name),
      );
    }
    add(`flow ${flow.kind}`, 'Flow', flow.kind, 'flow', () => app.openAction(flow.kind, null));
  }
  for (const session of workspace.sessions.answer ?? []) {
    add(
      `session ${session.id}`,
      'Session',
      session.title ? `${session.title} (${session.id})` : `${session.id} ${session.flow}`,
      'chat',
      () => app.openSession(session.id),
    );
  }
  return found;
}
