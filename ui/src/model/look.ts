// How the window looks as a person chose it: its theme, and the size of its text. The page colours itself; what lies
// around it, and the size of all, the host sets.
import { recall, remember } from '../base/remember';
import { chooseTheme, chosenTheme, type Theme } from '../base/theme';
import type { AppModel } from './app.svelte';

/** In percent. */
export const ZOOMS = [80, 90, 100, 110, 125, 150, 175, 200] as const;
const KEPT = 'zoom';

const kept = (): number => {
  const zoom = recall<unknown>(KEPT, 100);
  return ZOOMS.find((one) => one === zoom) ?? 100;
};

/** Puts in force what was chosen the last time. */
export function restoreLook(app: AppModel): void {
  const [zoom, theme] = [kept(), chosenTheme()];
  if (zoom !== 100) void app.host.setZoom(zoom).catch(() => {});
  if (theme !== 'system') void app.host.setTheme(theme).catch(() => {});
}

/** One size larger (1) or smaller (-1), or the first size (0). */
export function zoomText(app: AppModel, by: 1 | -1 | 0): void {
  const at = ZOOMS.findIndex((one) => one === kept());
  const zoom = by === 0 ? 100 : (ZOOMS[at + by] ?? kept());
  remember(KEPT, zoom);
  app.window.said = `Text size ${zoom} %`;
  void app.try(() => app.host.setZoom(zoom));
}

export function setTheme(app: AppModel, theme: Theme): void {
  chooseTheme(theme);
  void app.try(() => app.host.setTheme(theme));
}
