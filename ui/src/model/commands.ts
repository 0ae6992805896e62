// Every command of the window, in one table: the palette, the list of keys, tooltips and the one key listener read it.
// A command that does what a command of the program does names it; a test compares the two lists, in both directions.
import { keyName } from '../base/keys';
import { THEMES, type Theme } from '../base/theme';
import { goToZone, stepZone } from '../base/zones';
import { ALL_RUNS, HOME, TABS, type Tab } from '../place';
import { abort, copyLink, openConversation, openWindow, showSelected, step, tabsOf } from './actions';
import { runAgain } from './arrival';
import { command, hasFolder, hasTimeline, isOpen, type Command, type Group, type Verb } from './command';
import { INSIDE } from './inside-commands';
import { keymap } from './keymap.svelte';
import { setTheme, turnSingleKeys, zoomText } from './look';
import { SHEETS, isForeign } from './sheets';
import type { AppModel } from './app.svelte';
import type { TimelineAct } from './window.svelte';

export type { Command, Group, Verb } from './command';

const zone = (name: string, title: string, icon: string, when: Command['when'], verb?: Verb) =>
  command(`go.${name}`, 'Go', title, icon, [], () => void goToZone(name), { when, ...(verb && { verb }) });

const TAB_WORDS: Record<Tab, [string, string, Verb | undefined]> = {
  timeline: ['Show the timeline', 'sequencer', 'show'],
  items: ['Show the conversation', 'chat', 'items'],
  state: ['Show the state', 'change', 'state'],
  events: ['Show the events', 'list', 'events'],
  journal: ['Show the journal of the session', 'book', 'journal'],
  checkpoints: ['Show the checkpoints', 'half', 'checkpoints'],
  agent: ['Show the agent', 'chat', undefined],
  calls: ['Show the Calls', 'flow', undefined],
};

const tab = (name: Tab, at: number) => {
  const [title, icon, verb] = TAB_WORDS[name];
  const when = (app: AppModel) => isOpen(app) && tabsOf(app).includes(name);
  const run = (app: AppModel) => app.route.go({ tab: name });
  return command(`view.${name}`, 'View', title, icon, [String(at + 1)], run, { when, ...(verb && { verb }) });
};

const THEME_WORDS: Record<Theme, [string, string]> = {
  light: ['Theme: light', 'sun'],
  dark: ['Theme: dark', 'moon'],
  system: ['Theme: system', 'half'],
};

const theme = (name: Theme) => command(`theme.${name}`, 'View', ...THEME_WORDS[name], [], (app) => setTheme(app, name));

const instant = (id: string, title: string, icon: string, key: string, run: Command['run']) =>
  command(`instant.${id}`, 'Instant', title, icon, [key], run, { when: isOpen });

const row = (key: string, title: string) =>
  command(`timeline.${key}`, 'Timeline', title, 'sequencer', [key], (app) => app.window.timeline?.move(key), {
    scope: 'view',
    when: hasTimeline,
  });

const axis = (what: TimelineAct, title: string, icon: string, ...keys: string[]) =>
  command(`timeline.${what}`, 'Timeline', title, icon, keys, (app) => app.window.timeline?.act(what), {
    scope: 'view',
    when: hasTimeline,
  });

export const COMMANDS: readonly Command[] = [
  command('palette', 'Go', 'Find anything', 'search', ['Ctrl+k'], (app) => (app.window.sheet = 'palette')),
  command('folder', 'Go', 'Open another folder', 'folder', ['Ctrl+o'], (app) => (app.window.sheet = 'folder'), {
    verb: 'open',
  }),
  command('home', 'Go', 'Home', 'home', ['Alt+Home'], (app) => app.route.to(HOME)),
  command('waiting', 'Go', 'Pending approvals', 'pause', [], (app) => app.route.to({ at: 'waiting' }), {
    when: hasFolder,
    verb: 'suspensions',
  }),
  command('conversation', 'Go', 'Whole conversation of this session', 'chat', ['Ctrl+Shift+s'], openConversation, {
    when: (app) => !app.host.isCopy && app.session !== null,
    verb: 'session',
  }),
  command('flame', 'Go', 'Flame graph of this request', 'bolt', [], (app) => (app.window.sheet = 'flame'), {
    when: (app) => !app.host.isCopy && isOpen(app),
  }),
  command('settings', 'Go', 'Settings', 'gear', ['Ctrl+,'], (app) => app.route.to({ at: 'settings', section: null }), {
    when: (app) => !app.host.isCopy,
  }),
  command(
    'window',
    'Go',
    'Open this request in another window',
    'enlarge',
    ['Ctrl+Shift+n'],
    (app) => openWindow(app),
    {
      when: (app) => !app.host.isCopy && isOpen(app),
    },
  ),
  command('inspector', 'Go', 'Inspector in another window', 'enlarge', [], (app) => openWindow(app, 'inspector'), {
    when: (app) => !app.host.isCopy && isOpen(app),
  }),
  command('runs', 'Go', 'Runs', 'list', ['Ctrl+Shift+e'], (app) => app.route.to({ at: 'runs', ...ALL_RUNS }), {
    when: hasFolder,
    verb: 'requests',
  }),
  command(
    'verify',
    'Go',
    'Verify recorded runs',
    'check',
    ['Ctrl+Shift+y'],
    (app) => app.route.to({ at: 'verify', only: null }),
    { when: hasFolder, verb: 'verify' },
  ),
  command(
    'experiments',
    'Go',
    'Experiments',
    'flask',
    ['Ctrl+Shift+t'],
    (app) => app.route.to({ at: 'experiments', experiment: null }),
    { when: hasFolder, verb: 'experiments' },
  ),
  command('pane.left', 'View', 'Show or hide flows and sessions', 'paneleft', ['Ctrl+b'], (app) =>
    app.window.turnPane('left'),
  ),
  command('pane.right', 'View', 'Show or hide the inspector', 'paneright', ['Ctrl+j'], (app) =>
    app.window.turnPane('right'),
  ),
  ...THEMES.map(theme),
  command('text.larger', 'View', 'Larger text', 'plus', ['Ctrl++', 'Ctrl+='], (app) => zoomText(app, 1)),
  command('text.smaller', 'View', 'Smaller text', 'minus', ['Ctrl+-'], (app) => zoomText(app, -1)),
  command('text.reset', 'View', 'Normal text size', 'first', ['Ctrl+0'], (app) => zoomText(app, 0)),
  command('back', 'Go', 'Back', 'left', ['Alt+ArrowLeft'], (app) => app.route.browser.history.back()),
  command('forward', 'Go', 'Forward', 'right', ['Alt+ArrowRight'], (app) => app.route.browser.history.forward()),
  command('zone.next', 'Go', 'Focus next pane', 'right', ['F6'], () => stepZone(1)),
  command('zone.previous', 'Go', 'Focus previous pane', 'left', ['Shift+F6'], () => stepZone(-1)),
  zone('flows', 'Go to the flows', 'flow', hasFolder, 'flows'),
  zone('sessions', 'Go to the sessions', 'chat', hasFolder, 'sessions'),
  zone('view', 'Go to the tab that is open', 'sequencer', isOpen),
  zone('block', 'Go to the selected block', 'handler', isOpen, 'block'),
  zone('state', 'Go to the state', 'change', isOpen),
  ...TABS.map(tab),
  instant('back', 'Previous event', 'left', ',', (app) => app.seek(app.instant - 1)),
  instant('forward', 'Next event', 'right', '.', (app) => app.seek(app.instant + 1)),
  instant('previousEnd', 'Previous step', 'left', '[', (app) => void step(app, 'previousEnd')),
  instant('nextEnd', 'Next step', 'right', ']', (app) => void step(app, 'nextEnd')),
  instant('nextFailure', 'Next failure', 'nexterror', 'n', (app) => void step(app, 'nextFailure')),
  instant('blockStart', 'Start of the selected block', 'first', '<', (app) => showSelected(app, 'start')),
  instant('blockEnd', 'End of the selected block', 'last', '>', (app) => showSelected(app, 'end')),
  instant('live', 'Follow the newest event', 'last', 'l', (app) => app.seek(app.request.seq)),
  command('timeline.next', 'Timeline', 'Next block', 'down', ['j'], (app) => app.window.timeline?.move('ArrowDown'), {
    when: hasTimeline,
  }),
  command(
    'timeline.previous',
    'Timeline',
    'Previous block',
    'sequencer',
    ['k'],
    (app) => app.window.timeline?.move('ArrowUp'),
    {
      when: hasTimeline,
    },
  ),
  row('ArrowDown', 'Row below'),
  row('ArrowUp', 'Row above'),
  row('Shift+ArrowDown', 'Row below, at its start'),
  row('Shift+ArrowUp', 'Row above, at its start'),
  row('ArrowRight', 'Unfold'),
  row('ArrowLeft', 'Fold'),
  row('Home', 'First row'),
  row('End', 'Last row'),
  row('PageDown', 'A page down'),
  row('PageUp', 'A page up'),
  axis('find', 'Find a block', 'search', '/', 'Ctrl+f'),
  axis('zoomIn', 'Zoom in', 'plus', '+', '=', 'w'),
  axis('zoomOut', 'Zoom out', 'minus', '-', 's'),
  axis('fit', 'Zoom to fit', 'sequencer', '0'),
  axis('fitBlock', 'Zoom to the selected block', 'handler', 'f'),
  axis('earlier', 'Earlier times', 'left', 'a'),
  axis('later', 'Later times', 'right', 'd'),
  ...INSIDE,
  command('run', 'Do', 'Run', 'play', ['Ctrl+Enter'], (app) => app.window.form?.run(), {
    when: (app) => app.window.form !== null,
    verb: 'run',
  }),
  command('trigger', 'Do', 'Fire this entry', 'right', [], (app) => app.window.form?.run(), {
    when: (app) => app.window.form?.fires === true,
    verb: 'trigger',
  }),
  command('again', 'Do', 'Run again', 'again', [], (app) => void runAgain(app), {
    when: (app) => isOpen(app) && !isForeign(app),
  }),
  command('abort', 'Do', 'Abort this request', 'stop', ['Ctrl+Shift+x'], (app) => void abort(app), {
    when: (app) => app.request.live,
    verb: 'abort',
  }),
  ...SHEETS,
  command('why', 'Go', 'Where does this value come from?', 'backout', ['o'], (app) => app.window.explain?.(), {
    when: (app) => app.window.explain !== null,
    verb: 'why',
  }),
  command('link', 'Do', 'Copy a link to this place', 'copy', [], (app) => void copyLink(app), { when: hasFolder }),
  command('keys', 'Help', 'Keyboard shortcuts', 'keys', ['?'], (app) => (app.window.sheet = 'keys')),
  command('keys.single', 'Help', 'Turn single-key shortcuts on or off', 'keys', [], (app) => turnSingleKeys(app)),
];

/** The title of a command with its keys, for what a person sees of it elsewhere. */
export function tip(id: string): string {
  const found = COMMANDS.find((one) => one.id === id);
  if (!found) return '';
  const keys = keymap.keysOf(found).map(keyName).join(', ');
  return keys ? `${found.title} (${keys})` : found.title;
}

/** The first key of a command, as it is printed. */
export function keyOf(id: string): string {
  const found = COMMANDS.find((one) => one.id === id);
  const [key] = found ? keymap.keysOf(found) : [];
  return key ? keyName(key) : '';
}

/** Commands of the program that the window does not have, each with what a person does instead. */
export const NOT_IN_THE_WINDOW: Partial<Record<Verb, string>> = {
  debug: 'The Source tab steps forward and back.',
  dap: 'An editor starts it.',
  demo: 'It is there to look at without a display.',
  worker: 'A process of its own; the window resumes late requests as a worker does.',
};

/** Commands without one of the program: what they change is only what the window shows. */
export const ONLY_IN_THE_WINDOW: Record<Group, string | null> = {
  Go: 'Moves the focus, or what is shown.',
  View: 'Chooses what is shown, and how.',
  Instant: 'Moves the slider; the program takes an instant with --at.',
  Timeline: 'Moves the selection.',
  Step: null,
  Do: null,
  Help: 'About the window itself.',
};
/** Those of `Do` have one, but for these. */
export const EXCEPT: Record<string, string> = {
  again: 'Opens the form with the input of the request; running it is `run`.',
  link: 'Writes the line that `open` takes.',
};
