// The states of a page: every scope as of any event, what differs between two, and who wrote a place.
import { parsePath } from '../../base/path';
import type { Change, StateView, WriteRow } from '../bindings';
import { isEdit } from '../edit';
import type { Written } from './blocks';
import { difference } from './difference';
import { Track, type WrittenTrack } from './track';

type Fields = Record<string, unknown>;
const CONTENT = '$content';

export class States {
  readonly tracks: readonly Track[];

  constructor(
    written: readonly WrittenTrack[],
    /** The time of an event. */
    readonly timeOf: (seq: number) => number | null,
  ) {
    this.tracks = written.map((one) => new Track(one));
  }

  at(seq: number): StateView {
    const view: StateView = { seq, at: this.timeOf(seq), request: {}, versions: { request: 0 } };
    for (const track of this.tracks) {
      if (!track.isThere(seq)) continue;
      const { kind, id, name } = track.written;
      const state = track.state(track.stepAt(seq));
      let shown = track.isOfBlock ? id : kind;
      if (kind === 'resource') {
        if (Object.keys(state).length === 0) continue;
        // Two collections may have a path in common.
        shown = name === null || view.resources?.[name] !== undefined ? id : name;
        const { [CONTENT]: content, [track.written.exists ?? '']: _, ...fields } = state;
        (view.resources ??= {})[shown] = fields as never;
        if (typeof content === 'string') (view.contents ??= {})[shown] = content;
      } else if (track.isOfBlock) (view.sequencers ??= {})[id] = state as never;
      else Object.assign(view, { [kind]: state });
      view.versions[shown] = track.version(seq);
    }
    return view;
  }

  /** The differences of every scope between two events, each with who wrote it last. */
  diff(from: number, to: number): Change[] {
    return this.tracks.flatMap((track) =>
      this.#changes(track, from, to).map((change) => {
        const [write] = track.writesTo(parsePath(change.path), Math.min(from, to), Math.max(from, to));
        const [step] = write ?? [];
        if (step?.w === undefined) return change;
        const edit = isEdit({ operation: step.o ?? '' }) && { isEdit: true };
        return { ...change, seq: step.w, ...(step.b && { by: step.b }), ...edit };
      }),
    );
  }

  /** What a block changed: of each scope that it wrote to, between the events at which the writes were applied. */
  ofBlock(written: readonly Written[], path: string): Change[] {
    return written.flatMap(([at, from, to, last]) => {
      const track = this.tracks[at];
      return track ? this.#changes(track, from, to).map((change) => ({ ...change, seq: last, by: path })) : [];
    });
  }

  #changes(track: Track, from: number, to: number): Change[] {
    const { kind, name } = track.written;
    const found = difference(shown(track, from), shown(track, to));
    return found.map((one) => ({ scope: kind, ...(name !== null && { instanceId: name }), ...one }));
  }

  /** The writes of the request to a place such as `session.topic` or `sequencer[root/step:plan].steps`, in order. */
  history(place: string): WriteRow[] {
    const { kind, block, path } = addressOf(place);
    const writes = this.tracks
      .filter(({ written }) => written.kind === kind && (block === null || isOf(written.id, block)))
      .flatMap((track) => [...track.writesTo(path, -1, Infinity)])
      .filter(([step]) => step.w !== undefined)
      .sort(([one], [other]) => one.s - other.s || (one.w ?? 0) - (other.w ?? 0));
    return writes.map(([step, old, now]) => ({
      seq: step.w ?? step.s,
      committed: step.s,
      by: step.b ?? null,
      operation: step.o ?? '',
      old: (old ?? null) as WriteRow['old'],
      new: (now ?? null) as WriteRow['new'],
      at: this.timeOf(step.w ?? step.s) ?? 0,
    }));
  }
}

/** A scope as differences are read from it; undefined for a resource that is not there. */
function shown(track: Track, seq: number): Fields | undefined {
  if (!track.isThere(seq)) return track.isOfBlock ? {} : undefined;
  const state = track.state(track.stepAt(seq));
  if (track.written.kind !== 'resource') return state;
  if (Object.keys(state).length === 0) return undefined;
  const { [track.written.exists ?? '']: _, ...fields } = state;
  return fields;
}

/** Whether the state is of the block at a path, whatever its attempt. */
const isOf = (id: string, block: string): boolean =>
  id === block || id.slice(id.indexOf(':') + 1).replace(/:\d+$/, '') === block;

function addressOf(place: string): { kind: string; block: string | null; path: (string | number)[] } {
  const end = place.search(/[.[]/);
  const [kind, rest] = end < 0 ? [place, ''] : [place.slice(0, end), place.slice(end)];
  const isOfBlock = kind === 'sequencer' || kind === 'block';
  if (!isOfBlock || !rest.startsWith('[') || rest.startsWith('["'))
    return { kind, block: isOfBlock ? 'root' : null, path: parsePath(rest) };
  const close = closing(rest);
  return { kind, block: rest.slice(1, close), path: parsePath(rest.slice(close + 1)) };
}

/** Where the first bracket of a text closes. Paths have brackets themselves. */
function closing(text: string): number {
  let depth = 0;
  for (const [at, letter] of [...text].entries()) {
    if (letter === '[') depth++;
    if (letter === ']' && --depth === 0) return at;
  }
  return text.length;
}
