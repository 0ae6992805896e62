// The colours of the window, read from its style sheet for what is drawn by hand, and read again when they change.

const NAMES = {
  ink: '--ink',
  soft: '--soft',
  line: '--line',
  surface: '--surface',
  accent: '--accent',
  bar: '--bar',
  barEdge: '--bar-edge',
  whole: '--whole',
  wholeEdge: '--whole-edge',
  model: '--model',
  modelFill: '--model-fill',
  bad: '--bad',
  badFill: '--bad-fill',
  busy: '--busy',
  busyFill: '--busy-fill',
  hold: '--hold',
  holdFill: '--hold-fill',
  idle: '--idle',
} as const;

export type Colours = Record<keyof typeof NAMES, string> & { font: string; isForced: boolean };

export function readColours(element: Element): Colours {
  const style = getComputedStyle(element);
  const found = Object.entries(NAMES).map(([name, variable]) => [
    name,
    style.getPropertyValue(variable).trim() || '#888',
  ]);
  const isForced = matchMedia('(forced-colors: active)').matches;
  return { ...(Object.fromEntries(found) as Record<keyof typeof NAMES, string>), font: style.fontFamily, isForced };
}

/** Calls when the system or a person changes between light and dark, or colours are forced; answers how to stop. */
export function onColours(act: () => void): () => void {
  const queries = ['(prefers-color-scheme: dark)', '(forced-colors: active)'].map((query) => matchMedia(query));
  for (const query of queries) query.addEventListener('change', act);
  const chosen = new MutationObserver(act);
  chosen.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
  return () => {
    chosen.disconnect();
    for (const query of queries) query.removeEventListener('change', act);
  };
}
