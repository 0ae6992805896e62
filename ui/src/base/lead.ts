// Leads the focus into the first field of a dialog, also where it is read first; where there is none, to what the dialog
// is for, or past it if that takes something away. Nothing is led once a person has pressed a key or the pointer.

const FIELD = 'input, select, textarea';
const NO_FIELD = '[type=checkbox], [type=radio], [type=button], [type=hidden], :disabled';

export const firstField = (root: ParentNode): HTMLElement | undefined =>
  [...root.querySelectorAll<HTMLElement>(FIELD)].find((one) => !one.matches(NO_FIELD) && one.tabIndex >= 0);

/** What Enter does in a dialog without a field. Beside what takes something away it is the way out. */
function mainButton(root: ParentNode): HTMLElement | null {
  const main = root.querySelector<HTMLElement>('[data-primary]');
  return main?.matches('[data-primary=ctrl]') ? (main.parentElement?.querySelector('button') ?? null) : main;
}

/** Leads the focus into the first field, now or as soon as there is one. Answers how to stop. */
export function leadToField(root: HTMLElement): () => void {
  const end = new AbortController();
  const observer = new MutationObserver(lead);
  const stop = () => {
    observer.disconnect();
    end.abort();
  };
  function lead() {
    const field = firstField(root);
    if (!field) return mainButton(root)?.focus({ preventScroll: true });
    stop();
    field.focus({ preventScroll: true });
  }
  for (const kind of ['keydown', 'pointerdown'] as const)
    root.ownerDocument.addEventListener(kind, stop, { capture: true, signal: end.signal });
  observer.observe(root, { childList: true, subtree: true });
  lead();
  return stop;
}
