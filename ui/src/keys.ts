// The keys of the window as the list of keys shows them: those of the table, and what controls do with keys themselves.
import { keyName } from './base/keys';
import { COMMANDS } from './model/commands';

export type KeyGroup = { title: string; keys: readonly (readonly [string, string])[] };

const TITLES = { Go: 'Everywhere', View: 'Tabs', Instant: 'Slider', Timeline: 'Timeline', Do: 'Run', Help: 'Help' };

const CONTROLS: readonly KeyGroup[] = [
  {
    title: 'Lists and trees',
    keys: [
      ['Tab', 'Next list, toolbar or field'],
      ['↑ ↓', 'Entry above, below'],
      ['← →', 'Fold, unfold'],
      ['Esc', 'Close what is open'],
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

export function keyGroups(): KeyGroup[] {
  const groups = new Map<string, [string, string][]>();
  for (const { group, keys, title } of COMMANDS) {
    if (keys.length === 0) continue;
    const name = TITLES[group];
    const list = groups.get(name) ?? [];
    groups.set(name, list);
    list.push([keys.map(keyName).join(' '), title]);
  }
  return [...[...groups].map(([title, keys]) => ({ title, keys })), ...CONTROLS];
}
