// Keys as text: `Ctrl+k`, `Alt+ArrowLeft`, `Shift+F6`, `n`. Pure but for the event that is handed in.

type Pressed = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey'> &
  Partial<Pick<KeyboardEvent, 'getModifierState'>>;

/**
 * What was pressed. A printed character is itself, however it is typed: with Shift, with AltGr, or under Caps Lock. Only
 * Ctrl or Alt with a letter tells Shift apart, because Shift then prints no other character.
 */
export function chordOf(event: Pressed): string {
  const { key, shiftKey } = event;
  const isTyped = key.length === 1 && (event.getModifierState?.('AltGraph') ?? false);
  const ctrl = (event.ctrlKey || event.metaKey) && !isTyped;
  const alt = event.altKey && !isTyped;
  const name = key.length === 1 && (ctrl || alt || !shiftKey) ? key.toLowerCase() : key;
  const isShifted = shiftKey && (key.length > 1 || ((ctrl || alt) && key.toLowerCase() !== key.toUpperCase()));
  return [ctrl && 'Ctrl', alt && 'Alt', isShifted && 'Shift', name].filter(Boolean).join('+');
}

/** Where Shift+F10 is the key of a command: stepping back. Everywhere else it opens the context menu. */
const STEPS_BACK = '[data-steps]';

/** Whether a key opens the context menu of what has the focus. The menu key does so everywhere. */
export function opensMenu(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  if (event.key === 'F10' && event.shiftKey)
    return !(event.target instanceof Element && event.target.closest(STEPS_BACK));
  return event.key === 'ContextMenu';
}

/** A key that also writes a character: it is a command only where no text is being written. */
export const isSingle = (chord: string): boolean => chord.length === 1;

const NAMES: Record<string, string> = {
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→',
  PageUp: 'PgUp',
  PageDown: 'PgDn',
  Escape: 'Esc',
};

/** As it is printed on a keyboard. */
export const keyName = (chord: string): string =>
  chord
    .split(/(?<!^)\+/)
    .map((part, at) => NAMES[part] ?? (part.length === 1 && at > 0 ? part.toUpperCase() : part))
    .join('+');

/** Whether a key that is pressed there becomes text, or chooses by its letter. */
export function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) &&
        !['range', 'checkbox', 'radio', 'button'].includes((target as HTMLInputElement).type)))
  );
}

const OWN_ARROWS = 'input, select, textarea, [role=slider], [role=separator], [role=tab], [role=radio], [role=tree]';

/** Whether what has the focus does something of its own with arrows, Home, End and the page keys. */
export const ownsArrows = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest(OWN_ARROWS) !== null;
