// The keys of the window, in the words the key list shows. What they do stands where it is done.

export const KEYS = [
  {
    title: 'Everywhere',
    keys: [
      ['Ctrl+K', 'Find anything'],
      ['?', 'Show these keys'],
      ['Esc', 'Close what is open'],
      ['Alt+←', 'Back'],
      ['Alt+→', 'Forward'],
      ['Tab', 'Next control'],
    ],
  },
  { title: 'Run form', keys: [['Ctrl+Enter', 'Run']] },
  {
    title: 'Request',
    keys: [
      [', .', 'An event back, forward'],
      ['[ ]', 'A step back, forward'],
      ['n', 'Next failure'],
      ['l', 'Follow the newest event'],
      ['1 2 3', 'Timeline, items, events'],
      ['4 5', 'Agent, Calls, where there are any'],
    ],
  },
  {
    title: 'Timeline and trees',
    keys: [
      ['↑ ↓', 'Row above, below'],
      ['← →', 'Fold, unfold'],
      ['Home End', 'First, last row'],
      ['PgUp PgDn', 'A page up, down'],
    ],
  },
  {
    title: 'Splitters',
    keys: [
      ['← →', 'Move; further with Shift'],
      ['Enter', 'Back to the first place'],
    ],
  },
] as const;

/** A single letter is only a command where nobody is writing. */
export function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) &&
        (target as HTMLInputElement).type !== 'range' &&
        (target as HTMLInputElement).type !== 'checkbox'))
  );
}
