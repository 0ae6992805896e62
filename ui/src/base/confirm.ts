// Keys that do what a dialog or a form is for: Enter in a field of one line, Ctrl+Enter anywhere in it. Which button that
// is says `data-primary`: `enter` for both keys, `ctrl` for what must not happen by a bare Enter.

export type Primary = 'enter' | 'ctrl';

const NO_LINE = ['button', 'submit', 'reset', 'file', 'image', 'hidden', 'color', 'range'];

/** Whether Enter has nothing else to do there: a field of one line, a box, a choice of several. */
const takesEnter = (target: Element): boolean =>
  target instanceof HTMLInputElement ? !NO_LINE.includes(target.type) : target.matches('[role=radio]');

const isOutside = (button: Element): boolean => !button.closest('[data-form]');

/** A key that was pressed somewhere in `root`. The form that has the focus comes first, if it has such a button. */
export function confirmByKey(event: KeyboardEvent, root: HTMLElement): void {
  const { target } = event;
  if (event.key !== 'Enter' || event.defaultPrevented || event.isComposing || !(target instanceof Element)) return;
  // A key that is held down came from what was open before: it presses nothing here.
  if (event.repeat && !target.matches('textarea')) return event.preventDefault();
  if (event.shiftKey || event.altKey) return;
  const isStrong = event.ctrlKey || event.metaKey;
  if (!isStrong && !takesEnter(target)) return;
  const wanted = isStrong ? '[data-primary]' : '[data-primary=enter]';
  const form = target.closest<HTMLElement>('form, [data-form]');
  const own = form && root.contains(form) ? form : null;
  // Of several none is meant from outside of their forms, and no key of one question answers another.
  const [first, ...more] = [...root.querySelectorAll<HTMLButtonElement>('[data-primary]')].filter(isOutside);
  const inside = own?.querySelector<HTMLButtonElement>('[data-primary]') ?? null;
  const button = inside ?? (own?.matches('[data-form]') || more.length > 0 ? null : first);
  if (!button?.matches(wanted)) return;
  event.preventDefault();
  event.stopPropagation();
  button.click();
}
