// How the window looks as a person chose it: its theme, and the size of its text. The page colours itself; what lies
// around it, and the size of all, the host sets.
import { recall } from '../base/remember';
import { applyTheme, chosenTheme, type Theme } from '../base/theme';
import type { AppModel } from './app.svelte';
import { keepOwn, readOwnSettings, ZOOMS } from './own-settings';

const KEPT = 'zoom';

/** The size of the text that was chosen. */
export const chosenZoom = (): number => {
  const zoom = recall<unknown>(KEPT, 100);
  return ZOOMS.find((one) => one === zoom) ?? 100;
};

/** Puts in force what was chosen the last time. */
export function restoreLook(app: AppModel): void {
  void app.try(() => readOwnSettings(app));
  const [zoom, theme] = [chosenZoom(), chosenTheme()];
  if (zoom !== 100) void app.host.setZoom(zoom).catch(() => {});
  if (theme !== 'system') void app.host.setTheme(theme).catch(() => {});
}

/** One size larger (1) or smaller (-1), or the first size (0). */
export function zoomText(app: AppModel, by: 1 | -1 | 0): void {
  const at = ZOOMS.findIndex((one) => one === chosenZoom());
  const zoom = by === 0 ? 100 : (ZOOMS[at + by] ?? chosenZoom());
  setZoom(app, zoom);
}

export function setZoom(app: AppModel, zoom: number): void {
  keepOwn(app, 'textSize', zoom);
  app.window.said = `Text size ${zoom} %`;
  void app.try(() => app.host.setZoom(zoom));
}

export function setTheme(app: AppModel, theme: Theme): void {
  keepOwn(app, 'theme', theme);
  applyTheme(theme);
  void app.try(() => app.host.setTheme(theme));
}

export function turnSingleKeys(app: AppModel): void {
  app.window.turnSingleKeys();
  keepOwn(app, 'singleKeys', app.window.singleKeys);
}
