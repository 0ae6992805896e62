// Small things kept between runs of the window: splitter positions and recent values. Never data of a flow.
// Storage may be forbidden or full; forgetting is then better than failing.

const PREFIX = 'flowglass.';

export function recall<T>(key: string, otherwise: T): T {
  try {
    const text = localStorage.getItem(PREFIX + key);
    return text === null ? otherwise : (JSON.parse(text) as T);
  } catch {
    return otherwise;
  }
}

export function remember(key: string, value: unknown): void {
  try {
    localStorage.setItem(PREFIX + key, JSON.stringify(value));
  } catch {
    // Nothing to do: the value is simply not there next time.
  }
}

/** Recent values, newest first, each once. */
export function recent(key: string): string[] {
  const found = recall<unknown>(`recent.${key}`, []);
  return Array.isArray(found) ? found.filter((one): one is string => typeof one === 'string') : [];
}

export function addRecent(key: string, value: string, most = 8): void {
  if (!value) return;
  remember(`recent.${key}`, [value, ...recent(key).filter((one) => one !== value)].slice(0, most));
}
