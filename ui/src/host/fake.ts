// A host that needs nothing: recorded runs held in memory, and new ones played back as if they were happening.
// For unit tests, for a browser tab and for looking at the window; it must never be mistaken for an engine.
import { FakeFiles } from './fake-files';
import { pageOfRequests, pageOfSessions, sessionOf } from './fake-lists';
import { playAll, scriptOf } from './plays';
import { Recording, type Beat } from './recording';
import { flows, olderSessions, sources, workspace } from './samples';
import type { Fault, Host, Notice, RequestRow, ListedSession, RunOptions, Workspace } from './host';

const fault = (kind: 'notFound' | 'refused', message: string): Fault => ({ kind, message });

export class FakeHost extends FakeFiles implements Host {
  readonly #recordings = new Map<string, Recording>();
  readonly #sessions = new Map<string, ListedSession>();
  readonly #watchers = new Set<(notice: Notice) => void>();
  readonly #stopped = new Set<string>();
  readonly #workspace: Workspace;
  #ids = 0;

  /** `pace` stretches the waits of a live run; 0 plays it at once. `large` adds a run of about so many blocks. */
  constructor(
    readonly pace = 1,
    older = 120,
    large = 0,
  ) {
    super();
    this.#workspace = structuredClone(workspace);
    const now = Date.now();
    for (const session of olderSessions(older, now)) this.#sessions.set(session.id, session);
    const input = { topic: 'wild bees', depth: 2, tone: 'plain', includeSources: true };
    this.#record(
      { flow: 'chat', action: 'send', userId: 'ada', input: 'How do I read a run?', mock: true },
      now - 3_000_000,
    );
    this.#record(
      { flow: 'research', action: 'plan', userId: 'ada', projectId: 'apollo', input, mock: true },
      now - 900_000,
    );
    this.#record(
      {
        flow: 'research',
        action: 'plan',
        userId: 'ada',
        input: { ...input, topic: 'fail' },
        mock: true,
        sessionId: 'ses-2',
      },
      now - 200_000,
    );
    const stress = { flow: 'stress', action: 'run', userId: 'ada', mock: true, sessionId: 'ses-large' };
    if (large > 0) this.#record({ ...stress, input: { blocks: large, mixed: true } }, now - 90_000_000);
  }

  async workspace() {
    return this.#workspace;
  }
  async chooseWorkspace(dir: string) {
    this.#workspace.dir = dir;
    this.#workspace.isTrusted = !dir.includes('downloaded');
    this.#workspace.hosts = dir.includes('downloaded') ? ['api.example.com', 'https://models.example.net/v1'] : [];
    return this.#workspace;
  }
  async trustWorkspace() {
    this.#workspace.isTrusted = true;
    return this.#workspace;
  }
  async openExamples() {
    return this.#workspace;
  }
  async openLog() {
    return '/home/ada/.local/state/flowglass/log/flowglass.2026-01-01.log';
  }
  async flows() {
    return this.#workspace.isTrusted ? structuredClone(flows) : [];
  }
  async source(file: string) {
    const text = sources[file];
    if (text === undefined) throw fault('notFound', `There is no file ${file} in this workspace.`);
    return text;
  }

  async startRun(options: RunOptions) {
    const flow = flows.find((one) => one.kind === options.flow);
    if (!flow?.actions.some((one) => one.name === options.action))
      throw fault('notFound', `No action ${options.flow}.${options.action}.`);
    if (options.flow === 'research' && (options.input as { topic?: unknown })?.topic === 'nothing') {
      const invalid: Fault = {
        kind: 'invalid',
        message: 'The input breaks the schema.',
        details: [{ path: 'topic', message: 'There is nothing to research about nothing.' }],
      };
      throw invalid;
    }
    const { recording, beats } = this.#begin(options, Date.now());
    const { rate } = (options.input ?? {}) as { rate?: number };
    if (rate) this.#flood(recording, beats, rate);
    else if (this.pace === 0 || beats.length > 2000) playAll(recording, beats, Date.now());
    else this.#play(recording, beats, 0);
    this.#notify(recording);
    return { requestId: recording.row.id, sessionId: recording.row.sessionId };
  }

  async abort(requestId: string) {
    const recording = this.find(requestId);
    if (recording.row.status !== 'in_progress') throw fault('refused', 'This request has already ended.');
    this.#stopped.add(requestId);
    recording.append({ wait: 0, kind: 'request.aborted', payload: {} }, Date.now());
    this.#notify(recording);
  }

  async sessions(query: Parameters<Host['sessions']>[0]) {
    return pageOfSessions(this.#sessions.values(), query);
  }
  async requests(query: Parameters<Host['requests']>[0]) {
    return pageOfRequests(this.#recordings.values(), query);
  }
  async block(requestId: string, instanceId: string) {
    const detail = this.find(requestId).block(instanceId);
    if (!detail) throw fault('notFound', `Request ${requestId} has no block ${instanceId}.`);
    return detail;
  }
  async items(query: Parameters<Host['items']>[0]) {
    if (query.request) return this.find(query.request).items(query.view);
    return [...this.#recordings.values()]
      .filter((one) => one.row.sessionId === query.session)
      .flatMap((one) => one.items(query.view));
  }
  async stateAt(requestId: string, seq: number) {
    return structuredClone(this.find(requestId).stateAt(seq));
  }
  async diff(requestId: string, from: number, to: number) {
    return structuredClone(this.find(requestId).diff(from, to));
  }
  /** No request of the recording is an agent's. */
  async flowStateDiff() {
    return [];
  }
  async events(requestId: string, from: number, limit: number) {
    return this.find(requestId).events.slice(Math.max(0, from - 1), Math.max(0, from - 1) + limit);
  }
  async watch(onNotice: (notice: Notice) => void) {
    this.#watchers.add(onNotice);
    return () => void this.#watchers.delete(onNotice);
  }

  protected find(requestId: string): Recording {
    const found = this.#recordings.get(requestId);
    if (!found) throw fault('notFound', `There is no request ${requestId}.`);
    return found;
  }

  #begin(options: RunOptions, at: number) {
    const id = `req-${++this.#ids}`;
    const sessionId = options.sessionId || `ses-${this.#ids}`;
    const row: RequestRow = {
      id,
      sessionId,
      flow: options.flow,
      action: options.action,
      userId: options.userId,
      projectId: options.projectId ?? null,
      status: 'in_progress',
      startedAt: at,
      finishedAt: null,
      durationMs: null,
      retryOf: null,
      error: null,
      mock: options.mock,
      lastSeq: 0,
    };
    const recording = new Recording(row);
    this.#recordings.set(id, recording);
    this.#touch(recording, at);
    recording.append({ wait: 0, kind: 'request.started', payload: { input: options.input } }, at);
    return { recording, beats: scriptOf(id, options) };
  }

  #record(options: RunOptions, at: number) {
    const { recording, beats } = this.#begin(options, at);
    playAll(recording, beats, at);
    this.#touch(recording, at);
  }

  #play(recording: Recording, beats: Beat[], next: number) {
    const beat = beats[next];
    if (!beat || this.#stopped.has(recording.row.id)) return;
    setTimeout(() => {
      if (this.#stopped.has(recording.row.id)) return;
      recording.append(beat, Date.now());
      this.#notify(recording);
      this.#play(recording, beats, next + 1);
    }, beat.wait * this.pace);
  }

  /** Plays so many events a second, several at a time, as a busy run writes them. */
  #flood(recording: Recording, beats: Beat[], rate: number) {
    const started = Date.now();
    let next = 0;
    const timer = setInterval(() => {
      const due = Math.min(beats.length, Math.ceil(((Date.now() - started) / 1000) * rate));
      for (; next < due; next++) recording.append(beats[next] as Beat, Date.now());
      this.advance(recording);
      if (next < beats.length && !this.#stopped.has(recording.row.id)) return;
      clearInterval(timer);
      this.#notify(recording);
    }, 8);
  }

  #touch(recording: Recording, at: number) {
    const { sessionId } = recording.row;
    const mine = [...this.#recordings.values()].filter((one) => one.row.sessionId === sessionId);
    this.#sessions.set(sessionId, sessionOf(mine, this.#sessions.get(sessionId), at));
  }

  #notify(recording: Recording) {
    this.#touch(recording, Date.now());
    this.advance(recording);
    const { id, sessionId, lastSeq, status } = recording.row;
    for (const tell of this.#watchers)
      tell({ kind: 'request', workspace: this.#workspace.dataFile, requestId: id, sessionId, seq: lastSeq, status });
  }
}
