// Where lists were scrolled to, so that one that is shown again begins there. For as long as the window is open.
const MOST = 200;
const tops = new Map<string, number>();

/** The top that a list had when it was left; 0 if it was never shown. */
export const topWhenLeft = (list: string): number => tops.get(list) ?? 0;

export function keepTop(list: string, top: number): void {
  // The newest is the last one.
  tops.delete(list);
  if (top > 0) tops.set(list, top);
  const [oldest] = tops.keys();
  if (tops.size > MOST && oldest !== undefined) tops.delete(oldest);
}
