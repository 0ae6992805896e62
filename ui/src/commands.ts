// Everything the command palette offers: flows, actions, sessions, and what can be done where one is.
import type { Desk } from './model/desk.svelte';

export type Command = { id: string; group: string; title: string; icon: string; hint?: string; run: () => void };

export function commandsOf(desk: Desk, show: (sheet: 'keys' | 'folder') => void): Command[] {
  const { here, request, workspace } = desk;
  const found: Command[] = [];
  const add = (id: string, group: string, title: string, icon: string, run: () => void, hint?: string) =>
    found.push({ id, group, title, icon, run, hint });

  if (request.row) {
    add('tab timeline', 'Command', 'Show the timeline', 'sequencer', () => here.go({ tab: 'timeline' }), '1');
    add('tab items', 'Command', 'Show the items', 'chat', () => here.go({ tab: 'items' }), '2');
    add('tab events', 'Command', 'Show the events', 'change', () => here.go({ tab: 'events' }), '3');
    add('live', 'Command', 'Follow the newest event', 'last', () => here.go({ seq: null }), 'l');
    add('again', 'Command', 'Run again with the same input', 'again', () => void desk.runAgain());
    if (request.live)
      add(
        'abort',
        'Command',
        'Abort this request',
        'stop',
        () => void desk.try(() => desk.host.abort(request.id ?? '')),
      );
  }
  add('keys', 'Command', 'Show the keys', 'keys', () => show('keys'), '?');
  add('folder', 'Command', 'Open another folder', 'folder', () => show('folder'));
  add('log', 'Command', 'Open the log of this program', 'events', () => void desk.try(() => desk.host.openLog()));
  add('back', 'Command', 'Back', 'left', () => history.back(), 'Alt+←');
  add('forward', 'Command', 'Forward', 'right', () => history.forward(), 'Alt+→');
  add(
    'link',
    'Command',
    'Copy a link to this place',
    'copy',
    () => void desk.try(() => navigator.clipboard.writeText(location.href)),
  );
  for (const flow of workspace.flows.answer ?? []) {
    for (const action of flow.actions) {
      add(`action ${flow.kind}.${action.name}`, 'Run', `${flow.kind}.${action.name}`, 'play', () =>
        desk.openAction(flow.kind, action.name),
      );
    }
    add(`flow ${flow.kind}`, 'Flow', flow.kind, 'flow', () => desk.openAction(flow.kind, null));
  }
  for (const session of workspace.sessions.answer ?? []) {
    add(
      `session ${session.id}`,
      'Session',
      session.title ? `${session.title} (${session.id})` : `${session.id} ${session.flow}`,
      'chat',
      () => desk.openSession(session.id),
    );
  }
  return found;
}
