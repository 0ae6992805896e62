// A person's settings for all folders, stored in a file: theme, density, text size, keys. The window's local storage
// has a copy, so that a window looks right before the file has been read.
import { isRecord } from '../base/json';
import { looks, TEXT_SIZES } from '../base/looks.svelte';
import { recall, remember } from '../base/remember';
import { DENSITIES, rows, type Density } from '../base/density.svelte';
import { applyTheme, chosenTheme, THEMES } from '../base/theme';
import { asFault } from '../host/host';
import type { AppModel } from './app.svelte';
import { keymap } from './keymap.svelte';

/** The fields of the file, each with its name in local storage. */
const KEPT = { theme: 'theme', density: 'density', textSize: 'zoom', singleKeys: 'keys.single', keys: 'keys.changed' };
type Field = keyof typeof KEPT;

const IS: Record<Field, (value: unknown) => boolean> = {
  theme: (value) => THEMES.some((one) => one === value),
  density: (value) => DENSITIES.some((one) => one === value),
  textSize: (value) => TEXT_SIZES.some((one) => one === value),
  singleKeys: (value) => typeof value === 'boolean',
  keys: isRecord,
};

/** The file's content when it was last read, the number of this window's writes, and how many have not ended. */
type FileSeen = { said: Record<string, unknown>; writes: number; open: number };
const SEEN = new WeakMap<AppModel, FileSeen>();
const seenBy = (app: AppModel): FileSeen => {
  const found = SEEN.get(app) ?? { said: {}, writes: 0, open: 0 };
  SEEN.set(app, found);
  return found;
};

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/**
 * Applies fields that have changed in the file since it was last read, because another window or a person wrote it.
 * Missing and invalid fields keep the window's own values.
 */
export async function readOwnSettings(app: AppModel): Promise<void> {
  if (app.host.isCopy) return;
  const seen = seenBy(app);
  const { writes } = seen;
  const { settings } = await app.host.ownSettings();
  // A content from before a write of this window would undo that write.
  if (!isRecord(settings) || seen.open > 0 || writes !== seen.writes) return;
  const inForce: Record<Field, unknown> = {
    theme: looks.theme,
    density: rows.density,
    textSize: looks.textSize,
    singleKeys: app.window.singleKeys,
    keys: keymap.changed,
  };
  const changed = (Object.keys(KEPT) as Field[]).filter(
    (field) =>
      IS[field](settings[field]) &&
      !isSame(settings[field], seen.said[field]) &&
      !isSame(settings[field], inForce[field]),
  );
  seen.said = settings;
  for (const field of changed) remember(KEPT[field], settings[field]);
  if (changed.includes('theme')) {
    applyTheme(chosenTheme());
    void app.host.setTheme(chosenTheme()).catch(() => {});
  }
  looks.reload();
  if (changed.includes('density')) rows.reload();
  if (changed.includes('textSize')) void app.host.setZoom(looks.textSize).catch(() => {});
  if (changed.includes('singleKeys')) app.window.singleKeys = recall(KEPT.singleKeys, true);
  if (changed.includes('keys')) keymap.reload();
}

/** Saves a setting, at once for this window and in the file for others. */
export function keepOwn(app: AppModel, field: Field, value: unknown): void {
  remember(KEPT[field], value);
  void changeOwn(app, field, value);
}

const NOT_KEPT = {
  title: 'Your own settings were not saved',
  advice: 'This window remembers what you chose. Repair or remove the file, then choose again.',
};

/** Writes a field of the file. Returns whether that succeeded. */
export async function changeOwn(app: AppModel, field: string, value: unknown): Promise<boolean> {
  const seen = seenBy(app);
  seen.writes++;
  seen.open++;
  try {
    await app.host.changeOwnSettings([{ field, value }]);
    return true;
  } catch (thrown) {
    app.faults.tell(asFault(thrown).message, NOT_KEPT);
    return false;
  } finally {
    seen.open--;
  }
}

/** Saves the current keys. */
export const keepKeys = (app: AppModel): void => keepOwn(app, 'keys', recall(KEPT.keys, {}));

export function setDensity(app: AppModel, density: Density): void {
  keepOwn(app, 'density', density);
  rows.reload();
}
