// One Tab stop for a list or a toolbar: Tab enters it where it was left, and the arrow keys move inside it. Implements
// the roving tabindex of the ARIA practices. It reads the current elements each time, so rows may appear and disappear.
import type { Attachment } from 'svelte/attachments';

type Options = {
  arrows: 'vertical' | 'horizontal' | 'both';
  /** The selector of the element to scroll to the first or last row, for a list that renders only visible rows. */
  scroller?: string;
};

const FOCUSABLE = 'button:not(:disabled):not([aria-hidden="true"]), a[href]';
const STEPS: Record<Options['arrows'], Record<string, number>> = {
  vertical: { ArrowDown: 1, ArrowUp: -1 },
  horizontal: { ArrowRight: 1, ArrowLeft: -1 },
  both: { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1 },
};

/** Whether an element can take the focus: a narrow window hides some buttons by CSS alone. */
function isShown(one: HTMLElement): boolean {
  if (one.checkVisibility) return one.checkVisibility({ visibilityProperty: true });
  if (getComputedStyle(one).visibility === 'hidden') return false;
  for (let at: Element | null = one; at; at = at.parentElement)
    if (getComputedStyle(at).display === 'none') return false;
  return true;
}

export function roving({ arrows, scroller }: Options): Attachment<HTMLElement> {
  return (box) => {
    let last: HTMLElement | null = null;
    const all = () => [...box.querySelectorAll<HTMLElement>(FOCUSABLE)];

    function update() {
      const items = all();
      const stop =
        items.find((one) => one === last && isShown(one)) ??
        items.find((one) => one.getAttribute('aria-current') === 'true' && isShown(one)) ??
        items.find(isShown);
      for (const one of items) {
        const index = one === stop ? 0 : -1;
        if (one.tabIndex !== index || !one.hasAttribute('tabindex')) one.tabIndex = index;
      }
    }

    function onfocusin(event: FocusEvent) {
      const item = (event.target as HTMLElement).closest<HTMLElement>(FOCUSABLE);
      if (item) last = item;
      update();
    }

    function onkeydown(event: KeyboardEvent) {
      if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
      const items = all();
      const at = items.findIndex((one) => one === event.target);
      if (at < 0) return;
      const step = STEPS[arrows][event.key];
      if (step !== undefined) (step > 0 ? items.slice(at + 1) : items.slice(0, at).reverse()).find(isShown)?.focus();
      else if (event.key === 'Home') edge(true);
      else if (event.key === 'End') edge(false);
      else return;
      event.preventDefault();
    }

    function edge(start: boolean) {
      const list = scroller ? box.querySelector(scroller) : null;
      if (list) list.scrollTop = start ? 0 : list.scrollHeight;
      // A long list renders its rows one frame after scrolling.
      requestAnimationFrame(() => {
        const items = all();
        (start ? items : items.reverse()).find(isShown)?.focus();
      });
    }

    const observer = new MutationObserver(update);
    observer.observe(box, {
      subtree: true,
      childList: true,
      attributes: true,
      attributeFilter: ['disabled', 'aria-current', 'aria-hidden', 'hidden'],
    });
    // CSS shows and hides by the width of the box; the Tab stop must be an element that is shown.
    const sized = new ResizeObserver(update);
    sized.observe(box);
    box.addEventListener('focusin', onfocusin);
    box.addEventListener('keydown', onkeydown);
    update();
    return () => {
      observer.disconnect();
      sized.disconnect();
      box.removeEventListener('focusin', onfocusin);
      box.removeEventListener('keydown', onkeydown);
    };
  };
}
