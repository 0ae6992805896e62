// What the command palette offers: the commands of the table that can be done now, and where one can go.
import { apart } from './base/apart';
import { firstPart } from './base/textdiff';
import { ago } from './base/time';
import type { ListedSession } from './host/host';
import type { AppModel } from './model/app.svelte';
import { titleOf } from './model/command';
import { COMMANDS, keyOf } from './model/commands';
import { isFired, runnables } from './model/runnables';
import { lookOf } from './model/status';

/** What of a title fits into a row. */
const MAX_CHARS = 70;

export type Entry = { id: string; group: string; title: string; icon: string; hint?: string; run: () => void };

/** How many of the last runs come before everything else. */
const MAX_RECENT = 5;

export function entriesOf(app: AppModel, query: string): Entry[] {
  const sessions = sessionEntries(app);
  const known = [...commandEntries(app), ...flowEntries(app)];
  if (query.trim()) return [...known, ...blockEntries(app), ...sessions];
  // Before anything is typed, what was worked on last is what is looked for most.
  const here = requestEntries(app);
  const listed = new Set(here.map((one) => one.id));
  const others = commandEntries(app).filter((one) => !listed.has(one.id));
  return [...sessions.slice(0, MAX_RECENT), ...here, ...flowEntries(app), ...others];
}

/** Looks for what is typed in everything that was recorded: the palette knows names and first words. */
export function searchEntry(app: AppModel, query: string): Entry | null {
  const text = query.trim();
  if (!text || !COMMANDS.find((one) => one.id === 'search')?.when(app)) return null;
  const run = () => app.window.searchAll(text);
  return { id: 'search all', group: 'Search', title: `Search all runs for “${text}”`, icon: 'search', run };
}

/** What can be done with the open request, in the order of its header, then its first blocks. */
const OF_REQUEST = ['resume', 'fork', 'retry', 'replay', 'diff', 'try', 'again', 'abort'];
const MAX_BLOCKS = 5;

function requestEntries(app: AppModel): Entry[] {
  if (!app.request.row) return [];
  const offered = OF_REQUEST.flatMap((id) => COMMANDS.find((one) => one.id === id && one.when(app)) ?? []);
  const acts = offered.map((one): Entry => ({
    id: one.id,
    group: HERE,
    title: titleOf(app, one),
    icon: one.icon,
    hint: keyOf(one.id) || HERE,
    run: () => one.run(app),
  }));
  return [...acts, ...blockEntries(app).slice(0, MAX_BLOCKS)];
}

const HERE = 'This request';

function sessionEntries(app: AppModel): Entry[] {
  const sessions = app.workspace.sessions.answer ?? [];
  const entries = sessions.map((one) => sessionEntry(app, one));
  const times = apart(sessions.map(({ id, updatedAt }, n) => ({ id, looks: entries[n]?.title ?? '', at: updatedAt })));
  return entries.map((entry, n) => {
    const session = sessions[n];
    const time = session && times.get(session.id);
    return time ? { ...entry, hint: `${lookOf(session.lastStatus).label} · ${time}` } : entry;
  });
}

function sessionEntry(app: AppModel, session: ListedSession): Entry {
  const { id, title, words, flow, lastAction, lastStatus, updatedAt, forkedFrom, userId } = session;
  const action = `${flow}.${lastAction}`;
  // A palette finds what it shows, and a row shows no more than this of a session. An id says nothing to a person.
  const said = title || words;
  const about = said ? `${firstPart(said, MAX_CHARS)} · ${action}` : `${action} · ${userId}`;
  return {
    id: `session ${id}`,
    group: 'Session',
    title: forkedFrom ? `${about} (fork)` : about,
    icon: lookOf(lastStatus).icon,
    hint: `${lookOf(lastStatus).label} · ${ago(updatedAt, Date.now())}`,
    run: () => app.openSession(id),
  };
}

/** The blocks of the open request, as far as their rows were read. */
function blockEntries(app: AppModel): Entry[] {
  return app.request.rows.blocks().map(({ path, attempt, instanceId }) => {
    const last = path.slice(path.lastIndexOf('/') + 1);
    const title = last.slice(last.indexOf(':') + 1) + (attempt > 0 ? `, attempt ${attempt}` : '');
    const run = () => app.select(instanceId, 'push', { tab: 'timeline' });
    return { id: `block ${instanceId}`, group: 'Block', title, icon: 'handler', hint: path, run };
  });
}

function flowEntries(app: AppModel): Entry[] {
  return (app.workspace.flows.answer ?? []).flatMap((flow) => [
    ...runnables(flow).map((action): Entry => {
      const name = `${flow.kind}.${action.name}`;
      const group = isFired(action) ? 'Fire' : 'Run';
      const run = () => app.openAction(flow.kind, action.name);
      return { id: `action ${name}`, group, title: name, icon: 'play', run };
    }),
    {
      id: `flow ${flow.kind}`,
      group: 'Flow',
      title: flow.kind,
      icon: 'flow',
      run: () => app.openAction(flow.kind, null),
    },
  ]);
}

/** Commands that act only where the focus is have nothing to act on from here. */
function commandEntries(app: AppModel): Entry[] {
  const offered = COMMANDS.filter((one) => one.scope === 'window' && one.id !== 'palette' && one.when(app));
  return offered.map((one) => {
    const { id, icon } = one;
    return { id, group: 'Command', title: titleOf(app, one), icon, hint: keyOf(id), run: () => one.run(app) };
  });
}
