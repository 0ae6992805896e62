// Which keys do what: those of the table of commands, until a person gives a command another key, or none. Kept between
// runs of the window. A window has one keyboard, so there is one of these.
import { keyName } from '../base/keys';
import { recall, remember } from '../base/remember';
import type { Command } from './command';

const KEPT = 'keys.changed';
/** Keys that move the focus, leave or confirm something, or write: no command may take them from what has the focus. */
const OF_CONTROLS = ['Tab', 'Shift+Tab', 'Enter', 'Shift+Enter', 'Escape', ' ', 'Backspace', 'Delete', 'ContextMenu'];
/** The native menu has them. */
const OF_WINDOW: Record<string, string> = { 'Ctrl+q': 'Ctrl+Q quits Flowglass', 'Ctrl+w': 'Ctrl+W closes the window' };
const OF_TEXTS = ['Ctrl+a', 'Ctrl+c', 'Ctrl+v', 'Ctrl+x', 'Ctrl+y', 'Ctrl+z', 'Ctrl+Shift+v', 'Ctrl+Shift+z'];
/** Keys that move within lists, trees and texts: only a command of the part that has the focus may have them. */
const OF_LISTS = ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight', 'Home', 'End', 'PageUp', 'PageDown'];

type Keyed = Pick<Command, 'id' | 'keys' | 'title' | 'scope'>;

/** What was kept, without what another version or another program may have written there. */
function kept(): Record<string, string[]> {
  const found = recall<unknown>(KEPT, {});
  if (typeof found !== 'object' || found === null || Array.isArray(found)) return {};
  const isKeys = (keys: unknown) => Array.isArray(keys) && keys.every((key) => typeof key === 'string');
  return Object.fromEntries(Object.entries(found).filter(([, keys]) => isKeys(keys))) as Record<string, string[]>;
}

export class KeyMap {
  #changed: Record<string, string[]> = $state.raw(kept());

  keysOf(command: Pick<Command, 'id' | 'keys'>): readonly string[] {
    return this.#changed[command.id] ?? command.keys;
  }

  isChanged(id: string): boolean {
    return id in this.#changed;
  }

  /** The commands that were given other keys, with these keys. */
  get changed(): Readonly<Record<string, readonly string[]>> {
    return this.#changed;
  }

  get hasChanges(): boolean {
    return Object.keys(this.#changed).length > 0;
  }

  /** Gives a command this key and no other; null for none. Answers why it cannot have it. */
  set(command: Keyed, chord: string | null, all: readonly Keyed[]): string | null {
    const wrong = chord === null ? null : this.#refusal(command, chord, all);
    if (!wrong) this.#keep({ ...this.#changed, [command.id]: chord === null ? [] : [chord] });
    return wrong;
  }

  /** Gives a command its first keys again. Answers why it cannot have them. */
  reset(command: Keyed, all: readonly Keyed[]): string | null {
    const wrong = command.keys.map((chord) => this.#taken(command, chord, all)).find((why) => why !== null) ?? null;
    const { [command.id]: _, ...others } = this.#changed;
    if (!wrong) this.#keep(others);
    return wrong;
  }

  resetAll(): void {
    this.#keep({});
  }

  /** Reads again what is kept. */
  reload(): void {
    this.#changed = kept();
  }

  #refusal(command: Keyed, chord: string, all: readonly Keyed[]): string | null {
    if (OF_CONTROLS.includes(chord) || (command.scope === 'window' && OF_LISTS.includes(chord)))
      return `${keyName(chord === ' ' ? 'Space' : chord)} is for what has the focus`;
    if (OF_WINDOW[chord]) return OF_WINDOW[chord];
    if (OF_TEXTS.includes(chord)) return `${keyName(chord)} is for texts`;
    return this.#taken(command, chord, all);
  }

  #taken(command: Keyed, chord: string, all: readonly Keyed[]): string | null {
    const other = all.find((one) => one.id !== command.id && this.keysOf(one).includes(chord));
    return other ? `${keyName(chord)} is the key of “${other.title}”` : null;
  }

  #keep(changed: Record<string, string[]>) {
    this.#changed = changed;
    remember(KEPT, changed);
  }
}

export const keymap = new KeyMap();
