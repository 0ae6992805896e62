// When something is drawn next.

/** Once in a frame; where nothing is drawn, soon. */
export const nextFrame = (act: () => void): void =>
  void ('requestAnimationFrame' in globalThis && !document.hidden ? requestAnimationFrame(act) : setTimeout(act, 16));
