// Tooltips of our own, because native ones come late, are large, and lie over whatever opened meanwhile. A tooltip is
// shown after the pointer rested, below what it is about, and never where a menu, a popover or a dialog is open.
import { inOrder } from './json';

/** How long a pointer rests before a tooltip is shown. */
export const REST_MS = 600;
const MAX_CHARS = 400;
const GAP = 6;
const OVER = '[role=dialog], [role=alertdialog], [role=menu]';
/** What opened something says no tooltip while that is open. */
const OPENED = '[aria-expanded=true], [data-state=open]';

/** Follows the pointer in a document; returns how to stop. */
export function tooltips(root: Document): () => void {
  const taken = new Map<Element, string>();
  const end = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let shown: HTMLElement | null = null;
  let pressed: Element | null = null;
  /** A page that changes takes elements away without a word of the pointer; their tooltip goes with them. */
  let leaving: MutationObserver | null = null;

  function hide() {
    clearTimeout(timer);
    leaving?.disconnect();
    shown?.remove();
    leaving = shown = null;
  }

  /** Keeps the native tooltips of an element and of those around it from being shown. */
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

  /** The innermost element around the pointer that has a tooltip. */
  function about(target: Element): Element | null {
    for (let one: Element | null = target; one; one = one.parentElement) if (taken.get(one)) return one;
    return null;
  }

  function show(of: Element) {
    const text = taken.get(of);
    const over = root.querySelector(OVER);
    if (!text || !of.isConnected || of.matches(OPENED) || (over && !of.closest(OVER))) return;
    shown = root.createElement('div');
    shown.setAttribute('role', 'tooltip');
    shown.className = 'tooltip';
    shown.textContent = inOrder(text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text);
    root.body.append(shown);
    place(shown, of.getBoundingClientRect(), root.documentElement);
    leaving = new MutationObserver(() => {
      if (!of.isConnected) hide();
    });
    leaving.observe(root.body, { childList: true, subtree: true });
  }

  const listen = (kind: string, does: (event: Event) => void) =>
    root.addEventListener(kind, does, { capture: true, passive: true, signal: end.signal });
  const elementOf = (target: EventTarget | null) => (target instanceof Element ? target : null);

  listen('pointerdown', (event) => {
    hide();
    pressed = elementOf(event.target);
    take(pressed);
  });
  listen('pointerover', (event) => {
    const target = elementOf(event.target);
    if (!target) return;
    giveBack(target);
    take(target);
    const of = about(target);
    hide();
    // What was pressed has done what it is for.
    if (of && !(pressed && of.contains(pressed))) timer = setTimeout(() => show(of), REST_MS);
  });
  listen('pointerout', (event) => {
    const next = elementOf((event as PointerEvent).relatedTarget);
    hide();
    if (pressed && !(next && pressed.contains(next))) pressed = null;
    giveBack(next);
  });
  for (const kind of ['keydown', 'scroll', 'wheel']) listen(kind, hide);
  root.defaultView?.addEventListener('resize', hide, { signal: end.signal });
  return () => {
    end.abort();
    hide();
    giveBack(null);
  };
}

/** Below an element, or above it where there is no room; never beyond the edges. */
function place(tooltip: HTMLElement, { left, top, bottom }: DOMRect, page: HTMLElement) {
  const { width, height } = tooltip.getBoundingClientRect();
  const below = bottom + GAP;
  const at = below + height > page.clientHeight ? Math.max(0, top - GAP - height) : below;
  tooltip.style.left = `${Math.max(GAP, Math.min(left, page.clientWidth - width - GAP))}px`;
  tooltip.style.top = `${at}px`;
}
