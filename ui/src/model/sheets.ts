// The commands that open a sheet over the window: what they do is decided there, and nothing happens before.
import { command, hasFolder, isOpen, type Command, type Verb } from './command';
import type { AppModel } from './app.svelte';
import { isResumable } from './plan';
import type { SheetName } from './window.svelte';

export const canResume = (app: AppModel): boolean => isResumable(app.request.row) && !app.host.isCopy;
/** Whether the open request was received as a trace: it has no code and no state. */
export const isForeign = (app: AppModel): boolean => isOpen(app) && app.request.row?.receivedFrom != null;
export const hasEnded = (app: AppModel): boolean => isOpen(app) && !app.request.live && !isForeign(app);
const canMakeRunnable = (app: AppModel): boolean => isForeign(app) && !app.host.isCopy;
const canFork = (app: AppModel): boolean => isOpen(app) && !isForeign(app);
/** Whether there is a block that forks can begin with. */
export const canTry = (app: AppModel): boolean => hasEnded(app) && app.selected !== null && !app.host.isCopy;
/** Whether the Experiments page shows an arm whose values can be written into the source. */
const hasArm = (app: AppModel): boolean =>
  app.route.current.at === 'experiments' && app.experiments.arm !== null && app.experiments.shown.answer !== null;
const hasSession = (app: AppModel): boolean => app.session !== null;

/** A run or a session that is open, or runs that are selected in the list. */
const canTag = (app: AppModel): boolean =>
  !app.host.isCopy &&
  (isOpen(app) ||
    app.route.current.at === 'conversation' ||
    (app.route.current.at === 'runs' && app.runs.selected.size > 0));

const sheet = (
  name: SheetName & Verb,
  group: Command['group'],
  title: string,
  icon: string,
  when: Command['when'],
  keys: string[] = [],
) => command(name, group, title, icon, keys, (app) => (app.window.sheet = name), { when, verb: name });

export const SHEETS: readonly Command[] = [
  sheet('resume', 'Do', 'Resume or answer this request', 'play', canResume, ['Ctrl+Shift+r']),
  sheet('retry', 'Do', 'Retry this request', 'again', hasEnded),
  sheet('fork', 'Do', 'Fork this request at the selected block', 'router', canFork, ['Ctrl+Shift+k']),
  sheet('try', 'Do', 'Try other models, prompts or values from the selected block', 'flask', canTry, ['Ctrl+Shift+m']),
  sheet('culprit', 'Do', 'Where was it decided?', 'critical', hasEnded),
  sheet('adopt', 'Do', 'Adopt the chosen arm of the experiment', 'edit', hasArm),
  sheet('replay', 'Do', 'Replay this request with the current code', 'loop', hasEnded, ['Ctrl+Shift+l']),
  sheet('search', 'Go', 'Search all runs', 'search', hasFolder, ['Ctrl+Shift+f']),
  sheet('history', 'Go', 'State history', 'change', isOpen),
  sheet('diff', 'Go', 'Compare two instants, or two requests', 'change', isOpen, ['Ctrl+Shift+d']),
  sheet('check', 'Go', 'Errors and warnings of all flows', 'warn', hasFolder),
  sheet('stats', 'Go', 'Database: size, check, compact', 'info', hasFolder),
  sheet('compact', 'Do', 'Compact the database', 'info', hasFolder),
  sheet('export', 'Do', 'Export this session or request, or share it as a page', 'up', hasSession),
  sheet('keep', 'Do', 'Keep this request as a test', 'file', hasEnded),
  sheet('tag', 'Do', 'Tag this run or session, or give it a title or a note', 'book', canTag),
  sheet('mcp', 'Go', 'Coding agents (MCP)', 'chat', hasFolder),
  sheet('serve', 'Go', 'Receive traces of other programs (OTLP)', 'down', hasFolder),
  sheet('runnable', 'Do', 'Make this trace runnable', 'flow', canMakeRunnable),
  sheet('import', 'Do', 'Import an export', 'down', hasFolder),
  sheet('delete', 'Do', 'Delete this session', 'cross', hasSession),
];
