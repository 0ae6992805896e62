// What a person chose for all folders, as it is kept in the file of their own settings: theme, density, size of the
// text, keys. The window's own memory holds the same, so that a window looks right before the file was read.
import { isRecord } from '../base/json';
import { recall, remember } from '../base/remember';
import { DENSITIES, rows, type Density } from '../base/density.svelte';
import { applyTheme, chosenTheme, THEMES } from '../base/theme';
import { asFault } from '../host/host';
import type { AppModel } from './app.svelte';
import { keymap } from './keymap.svelte';

/** Sizes of the text, in percent. */
export const ZOOMS = [80, 90, 100, 110, 125, 150, 175, 200] as const;

/** The fields of the file, each with the name it has in the memory of the window. */
const KEPT = { theme: 'theme', density: 'density', textSize: 'zoom', singleKeys: 'keys.single', keys: 'keys.changed' };
type Field = keyof typeof KEPT;

const IS: Record<Field, (value: unknown) => boolean> = {
  theme: (value) => THEMES.some((one) => one === value),
  density: (value) => DENSITIES.some((one) => one === value),
  textSize: (value) => ZOOMS.some((one) => one === value),
  singleKeys: (value) => typeof value === 'boolean',
  keys: isRecord,
};

/** Puts in force what the file says; what it does not say, or says wrongly, stays as the window remembers it. */
export async function readOwnSettings(app: AppModel): Promise<void> {
  if (app.host.isCopy) return;
  const { settings } = await app.host.ownSettings();
  if (!isRecord(settings)) return;
  const found = (Object.keys(KEPT) as Field[]).filter((field) => IS[field](settings[field]));
  const changed = found.filter((field) => {
    const isOther = JSON.stringify(recall<unknown>(KEPT[field], null)) !== JSON.stringify(settings[field]);
    if (isOther) remember(KEPT[field], settings[field]);
    return isOther;
  });
  if (changed.includes('theme')) {
    applyTheme(chosenTheme());
    void app.host.setTheme(chosenTheme()).catch(() => {});
  }
  if (changed.includes('density')) rows.reload();
  if (changed.includes('textSize')) void app.host.setZoom(recall(KEPT.textSize, 100)).catch(() => {});
  if (changed.includes('singleKeys')) app.window.singleKeys = recall(KEPT.singleKeys, true);
  if (changed.includes('keys')) keymap.reload();
}

/** Keeps a choice, for this window at once and for others in the file. */
export function keepOwn(app: AppModel, field: Field, value: unknown): void {
  remember(KEPT[field], value);
  void changeOwn(app, field, value);
}

const NOT_KEPT = {
  title: 'Your own settings were not saved',
  advice: 'This window remembers what you chose. Repair or remove the file, then choose again.',
};

/** Writes a field of the file. Answers whether it could. */
export async function changeOwn(app: AppModel, field: string, value: unknown): Promise<boolean> {
  try {
    await app.host.changeOwnSettings([{ field, value }]);
    return true;
  } catch (thrown) {
    app.faults.tell(asFault(thrown).message, NOT_KEPT);
    return false;
  }
}

/** Keeps the keys as they are now. */
export const keepKeys = (app: AppModel): void => keepOwn(app, 'keys', recall(KEPT.keys, {}));

export function setDensity(app: AppModel, density: Density): void {
  keepOwn(app, 'density', density);
  rows.reload();
}
