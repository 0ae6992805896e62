// The items of a recording as a view answers them. Of an item only its beginning tells whether it was there at an
// instant; its text is that of its end.
import type { Audience, AudienceCounts, ItemsQuery, ViewItems } from './host';
import type { Recording } from './recording';

const seen = (recording: Recording, view: Audience, at: number | null) =>
  recording.items(view).filter((item) => at === null || item.seq <= at);

export function countsAt(recording: Recording, at: number | null): AudienceCounts {
  const count = (view: Audience) => seen(recording, view, at).length;
  return { all: count('all'), client: count('client'), history: count('history'), trace: count('trace') };
}

export function itemsOf(recording: Recording, { audience, offset, limit, at }: ItemsQuery): ViewItems {
  const all = seen(recording, audience, at ?? null);
  const page = all.slice(offset, offset + limit).map((item) => ({ item, isTail: false, isCut: false }));
  return { seq: recording.events.length, total: all.length, counts: countsAt(recording, at ?? null), offset, page };
}
