// WebKitGTK answers a driver that asks for a picture with the next frame. A window that draws without a graphics processor
// has no next frame while nothing on its page changes, and the driver waits for ever. So while a driver controls the
// window, one pixel changes by as little as can be.

const REPAINT_MS = 100;
const SHADES = ['rgb(128 128 128 / 0.004)', 'rgb(128 128 128 / 0.008)'];

/** Begins where a driver says that it is there. Without one, nothing is drawn that did not change. */
export function repaintForDriver(): void {
  if (!navigator.webdriver) return;
  const pixel = document.createElement('div');
  pixel.ariaHidden = 'true';
  pixel.style.cssText = 'position: fixed; inset: auto 0 0 auto; width: 1px; height: 1px; pointer-events: none';
  document.body.append(pixel);
  let frames = 0;
  setInterval(() => (pixel.style.background = SHADES[frames++ % SHADES.length] ?? ''), REPAINT_MS);
}
