// How long after the start of a request things happened. A fork begins with events of the request that it left: those
// lie before its start, and the time between leaving that request and starting counts for nothing.
export type Pause = { from: number; to: number };

/** How long after its start something happened in a request; negative for what a fork has from its original. */
export function passedSince(first: number, at: number, pause: Pause | null): number {
  if (!pause) return Math.max(0, at - first);
  return at > pause.to ? at - pause.to : Math.min(0, at - pause.from);
}

/** How long something took, without the pause of a fork. */
export function tookWithout(pause: Pause | null, from: number, to: number): number {
  const paused = pause ? Math.max(0, Math.min(to, pause.to) - Math.max(from, pause.from)) : 0;
  return to - from - paused;
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
