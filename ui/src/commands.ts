// What the command palette offers: the commands of the table that can be done now, and where one can go.
import { keyName } from './base/keys';
import { firstPart } from './base/textdiff';
import type { AppModel } from './model/app.svelte';
import { COMMANDS } from './model/commands';
import { keymap } from './model/keymap.svelte';
import { isFired, runnables } from './model/runnables';

/** What of a title fits into a row. */
const MAX_CHARS = 70;

export type Entry = { id: string; group: string; title: string; icon: string; hint?: string; run: () => void };

export function entriesOf(app: AppModel): Entry[] {
  const found: Entry[] = [];
  // Commands that act only where the focus is have nothing to act on from here.
  for (const one of COMMANDS.filter((one) => one.scope === 'window' && one.id !== 'palette' && one.when(app))) {
    const hint = keymap.keysOf(one).map(keyName).join(', ');
    const { id, title, icon } = one;
    found.push({ id, group: 'Command', title, icon, ...(hint && { hint }), run: () => one.run(app) });
  }
  const add = (id: string, group: string, title: string, icon: string, run: () => void) =>
    found.push({ id, group, title, icon, run });
  for (const flow of app.workspace.flows.answer ?? []) {
    for (const action of runnables(flow)) {
      const name = `${flow.kind}.${action.name}`;
      const group = isFired(action) ? 'Fire' : 'Run';
      add(`action ${name}`, group, name, 'play', () => app.openAction(flow.kind, action.name));
    }
    add(`flow ${flow.kind}`, 'Flow', flow.kind, 'flow', () => app.openAction(flow.kind, null));
  }
  for (const { id, title, words, flow, lastAction } of app.workspace.sessions.answer ?? []) {
    // A palette finds what it shows, and a row shows no more than this of a session.
    const name = firstPart(`${flow}.${lastAction} ${title || words || id}`, MAX_CHARS);
    add(`session ${id}`, 'Session', name, 'chat', () => app.openSession(id));
  }
  return found;
}
