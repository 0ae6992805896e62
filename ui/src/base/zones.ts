// The parts of the window that F6 walks through, in the order of the page: elements with `data-zone`.
// Each is entered where it was left.

const FOCUSABLE =
  'button, input, select, textarea, summary, a[href], [tabindex]:not([tabindex="-1"]):not([role="separator"])';
/** What a zone is for, if it has one; what stands above it are its controls. */
const GRID = '[role="treegrid"], [role="grid"]';

const left = new WeakMap<Element, HTMLElement>();

export const zoneOf = (target: EventTarget | null): HTMLElement | null =>
  target instanceof Element ? target.closest<HTMLElement>('[data-zone]') : null;

/** To be told of every focus, so that a zone knows where it was left. */
export function rememberFocus(target: EventTarget | null): void {
  const zone = zoneOf(target);
  if (zone && target instanceof HTMLElement) left.set(zone, target);
}

/** The next zone, or the one before; after the last comes the first. Zones in which nothing takes the focus are passed by. */
export function stepZone(step: 1 | -1): void {
  const zones = [...document.querySelectorAll<HTMLElement>('[data-zone]')];
  const at = zones.indexOf(zoneOf(document.activeElement) as HTMLElement);
  const from = at < 0 && step < 0 ? 0 : at;
  for (let n = 1; n <= zones.length; n++) {
    const zone = zones[(from + n * step + zones.length * 2) % zones.length];
    if (zone && enter(zone)) return;
  }
}

/** Brings the focus into a zone, by its name. */
export function goToZone(name: string): boolean {
  const zone = document.querySelector<HTMLElement>(`[data-zone="${name}"]`);
  return zone !== null && enter(zone);
}

function enter(zone: HTMLElement): boolean {
  const last = left.get(zone);
  const found = [...zone.querySelectorAll<HTMLElement>(FOCUSABLE)].filter(
    (one) => one.tabIndex >= 0 && !one.matches(':disabled'),
  );
  const target = last && zone.contains(last) ? last : (zone.querySelector<HTMLElement>(GRID) ?? found[0]);
  target?.focus();
  return target !== undefined && document.activeElement === target;
}
