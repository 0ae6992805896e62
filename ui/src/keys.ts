// The keys of the window as the list of keys shows them: those of the table, and what controls do with keys themselves.
import { keyName } from './base/keys';
import type { Command } from './model/command';
import { COMMANDS } from './model/commands';
import { keymap } from './model/keymap.svelte';

/** A line of the list: its keys, what they do, and the command they can be taken from. */
type Line = readonly [keys: string, does: string, id?: string];
export type KeyGroup = { title: string; keys: readonly Line[] };

const TITLES = {
  Go: 'Everywhere',
  View: 'Tabs',
  Instant: 'Slider',
  Timeline: 'Timeline',
  Step: 'Source of a block',
  Do: 'Run',
  Help: 'Help',
};

const CONTROLS: readonly KeyGroup[] = [
  {
    title: 'Lists and trees',
    keys: [
      ['Tab', 'Next list, toolbar or field'],
      ['↑ ↓', 'Entry above, below'],
      ['← →', 'Fold, unfold'],
      ['Esc', 'Close what is open'],
      ['Menu', 'Context menu of what has the focus'],
      ['Shift+F10', 'The same; in the lines and buttons of a source it steps back over'],
    ],
  },
  {
    title: 'Dialogs',
    keys: [
      ['Ctrl+Enter', 'Do what the dialog is for'],
      ['Enter', 'The same, in a field of one line; it never deletes'],
      ['Esc', 'Close it'],
    ],
  },
  {
    title: 'Splitters',
    keys: [
      ['← →', 'Move; further with Shift'],
      ['Enter', 'Back to the first place'],
    ],
  },
];

/** `isOffered` says which commands there are where the list is shown, and `titled` what they are called there. */
export function keyGroups(
  isOffered: (id: string) => boolean = () => true,
  titled: (command: Command) => string = ({ title }) => title,
): KeyGroup[] {
  const groups = new Map<string, Line[]>();
  for (const command of COMMANDS) {
    const { id, group, keys } = command;
    if (!isOffered(id)) continue;
    if (keys.length === 0 && !keymap.isChanged(id)) continue;
    const name = TITLES[group];
    const list = groups.get(name) ?? [];
    groups.set(name, list);
    list.push([keymap.keysOf(command).map(keyName).join(' '), titled(command), id]);
  }
  return [...[...groups].map(([title, keys]) => ({ title, keys })), ...CONTROLS];
}

/** What a person does with the keys of a command. Each answers why it cannot be done. */
export const keyEdits = {
  isChanged: (id: string) => keymap.isChanged(id),
  set: (id: string, chord: string | null) => edit(id, (command) => keymap.set(command, chord, COMMANDS)),
  reset: (id: string) => edit(id, (command) => keymap.reset(command, COMMANDS)),
  resetAll: () => keymap.resetAll(),
  get hasChanges() {
    return keymap.hasChanges;
  },
};

function edit(id: string, act: (command: (typeof COMMANDS)[number]) => string | null): string | null {
  const found = COMMANDS.find((one) => one.id === id);
  return found ? act(found) : null;
}
