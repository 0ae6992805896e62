// How the window looks as a person chose it: its theme, and the size of its text. The page colours itself; what lies
// around it, and the size of all, the host sets.
import { looks, TEXT_SIZES } from '../base/looks.svelte';
import { applyTheme, type Theme } from '../base/theme';
import type { AppModel } from './app.svelte';
import { keepOwn, readOwnSettings } from './own-settings';

/** Puts in force what was chosen the last time. */
export function restoreLook(app: AppModel): void {
  looks.reload();
  const { textSize, theme } = looks;
  if (textSize !== 100) void app.host.setZoom(textSize).catch(() => {});
  if (theme !== 'system') void app.host.setTheme(theme).catch(() => {});
  void app.try(() => readOwnSettings(app));
}

/** One size larger (1) or smaller (-1), or the first size (0). */
export function zoomText(app: AppModel, by: 1 | -1 | 0): void {
  const at = TEXT_SIZES.findIndex((one) => one === looks.textSize);
  setZoom(app, by === 0 ? 100 : (TEXT_SIZES[at + by] ?? looks.textSize));
}

export function setZoom(app: AppModel, percent: number): void {
  keepOwn(app, 'textSize', percent);
  looks.reload();
  app.window.said = `Text size ${percent} %`;
  void app.try(() => app.host.setZoom(percent));
}

export function setTheme(app: AppModel, theme: Theme): void {
  keepOwn(app, 'theme', theme);
  looks.reload();
  applyTheme(theme);
  void app.try(() => app.host.setTheme(theme));
}

export function turnSingleKeys(app: AppModel): void {
  app.window.turnSingleKeys();
  keepOwn(app, 'singleKeys', app.window.singleKeys);
}
