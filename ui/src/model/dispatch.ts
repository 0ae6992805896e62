// The one place where a key becomes a command. What a control does with its own keys it does itself, and says so by
// preventing the default.
import { chordOf, isSingle, isWriting, opensMenu, ownsArrows } from '../base/keys';
import { zoneOf } from '../base/zones';
import type { AppModel } from './app.svelte';
import { COMMANDS, type Command } from './commands';
import { keymap } from './keymap.svelte';

/** The command that a key stands for where it was pressed; none while a dialog is open. */
export function commandOf(app: AppModel, event: KeyboardEvent): Command | undefined {
  if (event.defaultPrevented || event.isComposing || app.window.sheet !== null || opensMenu(event)) return undefined;
  const chord = chordOf(event);
  if (isSingle(chord) && (isWriting(event.target) || !app.window.singleKeys)) return undefined;
  const zone = zoneOf(event.target)?.dataset.zone;
  const isHere = (one: Command) =>
    one.scope === 'window' || (one.scope === zone && !isWriting(event.target) && !ownsArrows(event.target));
  return COMMANDS.find((one) => keymap.keysOf(one).includes(chord) && isHere(one) && one.when(app));
}

export function dispatch(app: AppModel, event: KeyboardEvent): void {
  const found = commandOf(app, event);
  if (!found) return;
  event.preventDefault();
  found.run(app);
}

/**
 * Keys with Alt are the window's, wherever the focus is: to be called before a control sees the key. Lists and tabs take
 * Home and the arrows without looking at Alt.
 */
export function dispatchAlt(app: AppModel, event: KeyboardEvent): void {
  if (!event.altKey) return;
  const found = commandOf(app, event);
  if (!found || found.scope !== 'window') return;
  event.preventDefault();
  event.stopPropagation();
  found.run(app);
}
