// Light or dark: as the system has it, or as a person chose for this window. The palettes are in `tokens.css`.
import { recall, remember } from './remember';

export const THEMES = ['light', 'dark', 'system'] as const;
export type Theme = (typeof THEMES)[number];

const KEPT = 'theme';

/** What was chosen; what is no theme says nothing. */
export function chosenTheme(): Theme {
  const kept = recall<unknown>(KEPT, 'system');
  return THEMES.find((one) => one === kept) ?? 'system';
}

/** Colours the page. */
export function applyTheme(theme: Theme): void {
  const root = document.documentElement;
  if (theme === 'system') delete root.dataset.theme;
  else root.dataset.theme = theme;
}

export function chooseTheme(theme: Theme): void {
  remember(KEPT, theme);
  applyTheme(theme);
}
