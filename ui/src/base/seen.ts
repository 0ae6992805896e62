// Acts once an element comes near the part of a page that is seen, so that what nobody looks at costs nothing.

/** How far below the seen part an element may be. */
const NEAR = '200px';

/** Answers with what stops the waiting. */
export function whenSeen(element: Element, act: () => void): () => void {
  // Without a layout everything counts as seen.
  if (typeof IntersectionObserver === 'undefined') {
    act();
    return () => {};
  }
  const observer = new IntersectionObserver(
    (entries) => {
      if (!entries.some((one) => one.isIntersecting)) return;
      observer.disconnect();
      act();
    },
    { rootMargin: NEAR },
  );
  observer.observe(element);
  return () => observer.disconnect();
}
