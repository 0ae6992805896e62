// What the right button offers where no part of the window has a menu of its own.
import type { AppModel } from './app.svelte';
import { copyLink } from './actions';

export type Entry = { id: string; label: string; icon: string; run: () => void };

/** What is read of a row when it is copied: its text, at most so much. */
const MAX_CHARS = 100_000;

export function menuAt(app: AppModel, target: Element): Entry[] {
  const copy = (text: string) => () => void app.try(() => navigator.clipboard.writeText(text));
  const selected = getSelection()?.toString() ?? '';
  const found: Entry[] = [];
  if (selected.trim()) found.push({ id: 'copy', label: 'Copy', icon: 'copy', run: copy(selected) });
  else {
    const row = target.closest('[role=row], [role=option], [role=treeitem], li, pre, dd, article');
    const text = (row?.textContent ?? '').replaceAll(/\s+/g, ' ').trim().slice(0, MAX_CHARS);
    if (text) found.push({ id: 'copy-row', label: 'Copy text', icon: 'copy', run: copy(text) });
  }
  if (app.workspace.info.answer)
    found.push({ id: 'link', label: 'Copy a link to this place', icon: 'copy', run: () => void copyLink(app) });
  const { history } = app.route.browser;
  found.push({ id: 'back', label: 'Back', icon: 'left', run: () => history.back() });
  found.push({ id: 'palette', label: 'Find anything…', icon: 'search', run: () => (app.window.sheet = 'palette') });
  return found;
}
