// What lies around the page: the native menu, made from the table of commands, and what a person does out there.
import type { DesktopEvent, MenuEntry } from '../host/host';
import type { AppModel } from './app.svelte';
import type { Command, Group } from './command';
import { COMMANDS } from './commands';
import { keymap } from './keymap.svelte';

/** The menus, by the groups of the table, in this order. */
const MENUS: Record<Group, string> = {
  Go: 'Go',
  Do: 'Run',
  View: 'View',
  Instant: 'Time',
  Timeline: 'Timeline',
  Step: 'Step',
  Help: 'Help',
};

/** What files and folders are about has a menu of its own, the first one. */
const FILE = ['folder', 'requests', 'search', 'import', 'export', 'compact', 'stats', 'delete'];
const menuName = ({ id, group }: Command): string => (FILE.includes(id) ? 'File' : MENUS[group]);

/** Those that act only in the part that has the focus have no place in a menu, which takes the focus away. */
const inMenu = ['File', ...Object.values(MENUS)].flatMap((menu) =>
  COMMANDS.filter((one) => one.scope === 'window' && menuName(one) === menu),
);

/** The commands that can be done now; none while a dialog is open, as with keys. */
export const enabledIn = (app: AppModel): string[] =>
  app.window.sheet === null ? inMenu.filter((one) => one.when(app)).map((one) => one.id) : [];

/** Keys that a menu can name. */
const NAMED = /^Ctrl\+(Shift\+)?([a-z0-9]|Enter|F\d{1,2})$/i;
const keyOf = (command: Command): string | null => keymap.keysOf(command).find((chord) => NAMED.test(chord)) ?? null;

/** The keys of the menu; where a person changed one, it is made anew. */
export const menuKeys = (): string => inMenu.map(keyOf).join(' ');

/**
 * Only keys with Ctrl are the menu's too. Those that also write a character stay with the page, which knows whether text
 * is being written; and those that move the focus, because what is typed next must already go there.
 */
export function menuOf(app: AppModel): MenuEntry[] {
  const enabled = new Set(enabledIn(app));
  return inMenu.map((command) => ({
    id: command.id,
    menu: menuName(command),
    title: command.title,
    keys: keyOf(command),
    enabled: enabled.has(command.id),
  }));
}

/** Does what was asked for outside of the page, if it can be done now. */
export function hear(app: AppModel, event: DesktopEvent): void {
  if (event.kind === 'command') {
    const found = inMenu.find((one) => one.id === event.id);
    if (found && app.window.sheet === null && found.when(app)) found.run(app);
  } else if (event.kind === 'dropped') {
    if (app.workspace.info.answer === null) return;
    app.window.file = event.file;
    app.window.sheet = 'import';
  } else {
    app.window.sheet = null;
    app.findRequest(event.requestId);
  }
}
