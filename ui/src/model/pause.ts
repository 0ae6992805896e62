// How long after the start of a request things happened. A fork begins with events of the request that it left: the
// time between leaving it and starting is no time of the fork, so its own events follow those directly.
export type Pause = { from: number; to: number };

/** How long after its first event a time of a request is, without the pause of a fork. */
export function passedSince(first: number, at: number, pause: Pause | null): number {
  const passed = Math.max(0, at - first);
  if (!pause || at <= pause.from) return passed;
  return passed - (Math.min(at, pause.to) - pause.from);
}

/** The pause of a request that is a fork; null for any other, and if its events do not tell. */
export async function pauseOf(
  forkedAt: number | null | undefined,
  timeOf: (seq: number) => Promise<number | null>,
): Promise<Pause | null> {
  if (!forkedAt) return null;
  const [from, to] = await Promise.all([timeOf(forkedAt), timeOf(forkedAt + 1)]).catch(() => [null, null]);
  return from != null && to != null && to > from ? { from, to } : null;
}
