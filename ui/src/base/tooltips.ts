// Native tooltips come late, and then lie over whatever opened meanwhile. So what was pressed says its tooltip only after
// the pointer has left it, and what lies below a menu or a dialog says none.

const OVER = '[role=dialog], [role=alertdialog], [role=menu]';

/** Follows the pointer in a document; answers how to stop. */
export function quietTooltips(root: Document): () => void {
  const taken = new Map<Element, string>();
  const end = new AbortController();

  /** Takes the tooltips of an element and of what it stands in, until the pointer leaves them. */
  function take(target: Element | null) {
    for (let one = target?.closest('[title]'); one; one = one.parentElement?.closest('[title]')) {
      taken.set(one, one.getAttribute('title') ?? '');
      one.removeAttribute('title');
    }
  }

  function giveBack(hovered: Element | null) {
    for (const [one, title] of taken) {
      if (hovered && one.contains(hovered)) continue;
      taken.delete(one);
      // It may have got another one meanwhile.
      if (!one.hasAttribute('title')) one.setAttribute('title', title);
    }
  }

  const listen = (kind: 'pointerdown' | 'pointerover' | 'pointerout', does: (event: PointerEvent) => void) =>
    root.addEventListener(kind, does, { capture: true, passive: true, signal: end.signal });
  const elementOf = (target: EventTarget | null) => (target instanceof Element ? target : null);

  listen('pointerdown', (event) => take(elementOf(event.target)));
  listen('pointerover', (event) => {
    const target = elementOf(event.target);
    giveBack(target);
    if (target?.closest('[title]') && !target.closest(OVER) && root.querySelector(OVER)) take(target);
  });
  listen('pointerout', (event) => giveBack(elementOf(event.relatedTarget)));
  return () => {
    end.abort();
    giveBack(null);
  };
}
