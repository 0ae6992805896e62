// A request held in memory as its events, and the views the window asks for, folded from them.
// It stands in for the Rust side in tests and in a browser tab; it executes nothing and stores nothing.
import { kindOf } from '../base/json';
import { child, parsePath, withValue } from '../base/path';
import { callsOf } from './fake-models';
import type {
  BlockDetail,
  BlockKind,
  BlockRow,
  Change,
  ErrorInfo,
  EventRow,
  Item,
  ItemView,
  Json,
  LogLine,
  RequestRow,
  StateView,
  ViewCalls,
} from './host';

/** One thing that happens, `wait` ms after the one before it. */
export type Beat = { wait: number; kind: string; path?: string; attempt?: number; payload: Record<string, Json> };

const ENDS: Record<string, RequestRow['status']> = {
  'request.completed': 'completed',
  'request.failed': 'failed',
  'request.aborted': 'aborted',
  'request.suspended': 'suspended',
};

export class Recording {
  readonly events: EventRow[] = [];
  readonly #blocks = new Map<string, BlockRow>();
  readonly #open = new Map<string, string>();
  readonly #payloads = new Map<string, { input?: Json; output?: Json }>();
  readonly #items = new Map<string, Item>();

  constructor(readonly row: RequestRow) {}

  append(beat: Beat, at: number): void {
    const seq = this.events.length + 1;
    const instanceId = beat.path ? `${this.row.id}:${beat.path}:${beat.attempt ?? 0}` : null;
    this.events.push({ seq, at, kind: beat.kind, path: beat.path, instanceId, payload: beat.payload });
    this.row.lastSeq = seq;
    if (instanceId && beat.path) this.#fold(beat, beat.path, instanceId, seq, at);
    const status = ENDS[beat.kind];
    if (status) {
      Object.assign(this.row, { status, finishedAt: at, durationMs: at - this.row.startedAt });
      this.row.error = (beat.payload.error as ErrorInfo | undefined) ?? null;
    }
  }

  #fold(beat: Beat, path: string, instanceId: string, seq: number, at: number) {
    const block = this.#blocks.get(instanceId);
    if (beat.kind === 'block.started') {
      this.#blocks.set(instanceId, {
        path,
        instanceId,
        parent: this.#parentOf(path),
        name: String(beat.payload.name),
        kind: beat.payload.kind as BlockKind,
        attempt: beat.attempt ?? 0,
        status: 'running',
        startedAt: at,
        durationMs: null,
        memoized: beat.payload.memoized === true,
        seqStart: seq,
        seqEnd: null,
        changes: 0,
        items: 0,
      });
      this.#open.set(path, instanceId);
      this.#payloads.set(instanceId, { input: beat.payload.input });
    } else if (block && beat.kind === 'block.finished') {
      block.status = (beat.payload.status as BlockRow['status'] | undefined) ?? 'completed';
      block.error = (beat.payload.error as ErrorInfo | undefined) ?? null;
      Object.assign(block, { durationMs: at - block.startedAt, seqEnd: seq });
      Object.assign(this.#payloads.get(instanceId) ?? {}, { output: beat.payload.output });
    } else if (block && beat.kind === 'state.changed') {
      block.changes++;
    } else if (block && beat.kind.startsWith('item.')) {
      const item = beat.payload.item as Item;
      if (!this.#items.has(item.id)) block.items++;
      this.#items.set(item.id, {
        ...item,
        requestId: this.row.id,
        seq: this.#items.get(item.id)?.seq ?? seq,
        ts: this.#items.get(item.id)?.ts ?? at,
        itemIndex: this.#items.get(item.id)?.itemIndex ?? this.#items.size,
        provenance: { blockName: block.name, path, blockInstanceId: instanceId, attempt: block.attempt, phase: 'main' },
      });
    }
  }

  #parentOf(path: string): string | null {
    for (let cut = path.lastIndexOf('/'); cut > 0; cut = path.lastIndexOf('/', cut - 1)) {
      const found = this.#open.get(path.slice(0, cut));
      if (found) return found;
    }
    return null;
  }

  /** In the order they started. */
  blocks(): readonly BlockRow[] {
    return [...this.#blocks.values()];
  }

  /** Without what is inside of a Call's own block, which the program leaves out too. */
  calls(after: number): ViewCalls {
    const fresh = this.blocks().filter((block) => block.seqStart > after || (block.seqEnd ?? Infinity) > after);
    return structuredClone({ seq: this.events.length, blocks: fresh });
  }

  block(instanceId: string): BlockDetail | null {
    const block = this.#blocks.get(instanceId);
    if (!block) return null;
    const changes: Change[] = [];
    for (const event of this.events) {
      if (event.kind !== 'state.changed' || event.instanceId !== instanceId) continue;
      const { scope, owner, path, value, old } = event.payload as Record<string, string>;
      changes.push({
        scope: scope ?? '',
        instanceId: owner,
        path: path ?? '',
        kind: old === undefined ? 'added' : 'changed',
        old,
        new: value,
        seq: event.seq,
        by: event.path,
      });
    }
    const items = this.items('all').filter((item) => item.provenance.blockInstanceId === instanceId);
    const payload = this.#payloads.get(instanceId);
    return structuredClone({
      block,
      ...payload,
      items,
      changes,
      logs: this.#logsOf(instanceId),
      asked: [],
      effects: [],
      modelCalls: callsOf(block, payload?.input ?? null, payload?.output ?? null, items),
    });
  }

  #logsOf(instanceId: string): LogLine[] {
    const lines = this.events.filter((event) => event.kind === 'logged' && event.instanceId === instanceId);
    return lines.map(({ at, payload }) => ({ at, ...(payload as { level: string; text: string }) }));
  }

  items(view: ItemView): Item[] {
    return [...this.#items.values()].filter((item) => {
      if (view === 'client') return item.visibility.client && !item.transient;
      if (view === 'history') return item.visibility.history && !item.transient;
      return view === 'all' || (!item.visibility.client && !item.visibility.history);
    });
  }

  stateAt(seq: number): StateView {
    const sequencers: Record<string, Json> = {};
    const view: StateView = {
      seq,
      at: this.events[seq - 1]?.at ?? this.row.startedAt,
      request: {},
      session: {},
      user: {},
      sequencers,
      versions: {},
    };
    for (const event of this.events.slice(0, seq)) {
      if (event.kind !== 'state.changed') continue;
      const { scope, owner, path, value } = event.payload as {
        scope: 'session';
        owner?: string;
        path: string;
        value: Json;
      };
      const key = owner ?? scope;
      view.versions[key] = (view.versions[key] ?? 0) + 1;
      if (owner) sequencers[owner] = withValue(sequencers[owner], parsePath(path), value);
      else view[scope] = withValue(view[scope], parsePath(path), value);
    }
    return view;
  }

  diff(from: number, to: number): Change[] {
    const before = this.stateAt(from);
    const after = this.stateAt(to);
    const found: Change[] = [];
    for (const scope of ['request', 'session', 'user', 'project'] as const)
      compare(scope, null, '', before[scope], after[scope], found);
    for (const id of Object.keys({ ...before.sequencers, ...after.sequencers })) {
      compare('sequencer', id, '', before.sequencers?.[id], after.sequencers?.[id], found);
    }
    for (const change of found) {
      const writer = this.events.slice(0, to).findLast(({ kind, payload }) => {
        const { scope, owner, path } = payload as { scope: string; owner?: string; path: string };
        return (
          kind === 'state.changed' &&
          scope === change.scope &&
          (owner ?? null) === (change.instanceId ?? null) &&
          (change.path.startsWith(path) || path.startsWith(change.path))
        );
      });
      Object.assign(change, { seq: writer?.seq ?? null, by: writer?.path ?? null });
    }
    return found;
  }
}

function compare(scope: string, instanceId: string | null, path: string, old: unknown, now: unknown, found: Change[]) {
  if (old === now) return;
  if (kindOf(old) === kindOf(now) && old && typeof old === 'object') {
    const keys = new Set([...Object.keys(old), ...Object.keys(now as object)]);
    for (const key of keys) {
      const step = Array.isArray(old) ? Number(key) : key;
      compare(scope, instanceId, child(path, step), (old as never)[key], (now as never)[key], found);
    }
    return;
  }
  const kind = old === undefined ? 'added' : now === undefined ? 'removed' : 'changed';
  found.push({ scope, instanceId, path, kind, old, new: now });
}
