// Calls back once when an element scrolls into view.

/** How far outside the visible part an element counts as visible. */
const NEAR = '200px';

/** Returns a function that stops waiting. */
export function whenSeen(element: Element, act: () => void): () => void {
  // Without a layout everything counts as seen.
  if (typeof IntersectionObserver === 'undefined') {
    act();
    return () => {};
  }
  let isOver = false;
  const stop = () => {
    isOver = true;
    observer.disconnect();
  };
  const observer = new IntersectionObserver(
    (entries) => {
      // An entry may have been queued before `stop` was called.
      if (isOver || !entries.some((one) => one.isIntersecting)) return;
      stop();
      act();
    },
    // A margin enlarges only the root, and a pane clips what is beyond its edge.
    { root: scrollPaneOf(element), rootMargin: NEAR },
  );
  observer.observe(element);
  return stop;
}

/** The nearest element around this one that scrolls; null if the page does. */
function scrollPaneOf(element: Element): Element | null {
  for (let pane = element.parentElement; pane; pane = pane.parentElement) {
    if (pane !== document.body && /auto|scroll/.test(getComputedStyle(pane).overflowY)) return pane;
  }
  return null;
}
