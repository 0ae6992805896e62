// A host that needs nothing: requests that the engine ran and whose answers were written down, and the same played
// again as if they were happening. For unit tests and for a browser tab; `tests/it/recorded.rs` writes what it plays.
import { FakeConversation } from './fake-conversation';
import { FakeFiles } from './fake-files';
import { pageOfRequests, pageOfSessions, sessionOf } from './fake-lists';
import { FakeRuns } from './fake-runs';
import { FakeSettings } from './fake-settings';
import type { EventParts, Host, ListedSession, Notice, RunOptions, TriggerOptions, Workspace } from './host';
import { notRecorded, Recording } from './recording';
import { lists, runs } from './recorded';
import { olderSessions } from './samples';

/** How long a frame of a played request stands, at the pace of 1. */
const FRAME_MS = 40;

export class FakeHost extends FakeFiles implements Host {
  readonly #played = new Map<string, Recording>();
  readonly #sessions = new Map<string, ListedSession>();
  readonly #watchers = new Set<(notice: Notice) => void>();
  readonly #workspace: Workspace;
  readonly #runs = new FakeRuns(
    () => this.#played.values(),
    () => this.#watchers.forEach((tell) => tell({ kind: 'sessions', workspace: this.#workspace.dataFile })),
  );
  readonly #conversation = new FakeConversation(
    () => this.#played.values(),
    () => this.#runs.runs({ limit: 1_000, offset: 0 }),
    (id) => this.#sessions.get(id) as ListedSession,
  );
  readonly folderSettings = new FakeSettings();
  #ids: number;

  /** `pace` stretches the frames of a request that is played; 0 plays it at once. `large` adds a long request. */
  constructor(
    readonly pace = 1,
    older = 120,
    large = false,
  ) {
    super();
    this.#ids = large ? 4 : 3;
    this.#workspace = { ...structuredClone(lists.workspace), isTrusted: true, users: ['ada', 'grace'] };
    const now = Date.now();
    for (const session of olderSessions(older, now)) this.#sessions.set(session.id, session);
    this.add(new Recording(runs.chat, 'req-1', 'ses-1', now - 3_000_000)).finish();
    this.add(new Recording(runs.research, 'req-2', 'ses-2', now - 900_000)).finish();
    this.add(new Recording(runs.failed, 'req-3', 'ses-2', now - 200_000)).finish();
    if (large) this.add(new Recording(runs.stress, 'req-4', 'ses-large', now - 90_000_000)).finish();
    for (const recording of this.#played.values()) this.#touch(recording);
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
  async reopenWorkspace() {
    return this.#workspace;
  }
  async openExamples() {
    return this.#workspace;
  }
  async openLog() {
    return '/home/ada/.local/state/flowglass/log/flowglass.2026-01-01.log';
  }
  async flows() {
    return this.#workspace.isTrusted ? structuredClone(lists.flows) : [];
  }
  async loadAnyway() {
    return this.flows();
  }
  async source(file: string) {
    const text = lists.sources[file];
    if (text === undefined) throw notRecorded(`the file ${file}`);
    return text;
  }

  /** Plays the request of the flow that was recorded, whatever its input was. */
  async startRun({ flow, action, input, sessionId, userId }: RunOptions) {
    const known = (await this.flows()).find((one) => one.kind === flow);
    const actions = (known?.actions ?? []).map((one) => one.name);
    const names = [...actions, ...(known?.entries ?? []).map((one) => one.address)];
    if (!names.includes(action)) throw lists.refused.unknown;
    const topic = (input as { topic?: unknown } | null)?.topic;
    if (flow === 'research' && topic === 'nothing') throw lists.refused.nothing;
    const text = flow === 'chat' ? runs.chat : flow === 'stress' ? runs.stress : topic === 'fail' ? runs.failed : null;
    const id = `req-${++this.#ids}`;
    const recording = this.add(new Recording(text ?? runs.research, id, sessionId || `ses-${this.#ids}`));
    Object.assign(recording.recorded.run, { userId });
    if (this.pace === 0) recording.finish();
    else this.#play(recording);
    this.#notify(recording);
    return { requestId: id, sessionId: recording.row.sessionId };
  }

  /** As an action of the same flow. */
  async trigger({ entry, userId, ...rest }: TriggerOptions) {
    return this.startRun({ ...rest, action: entry, userId: userId ?? 'system' });
  }

  async abort(requestId: string) {
    const recording = this.find(requestId);
    if (recording.isOver) throw { kind: 'refused', message: `request ${requestId} has already ended` };
    recording.abort(Date.now());
    this.#notify(recording);
  }

  async sessions(query: Parameters<Host['sessions']>[0]) {
    return pageOfSessions(this.#sessions.values(), query);
  }
  async requests(query: Parameters<Host['requests']>[0]) {
    return pageOfRequests(this.#played.values(), query);
  }
  runs: Host['runs'] = (query) => this.#runs.runs(query);
  runIds: Host['runIds'] = (query) => this.#runs.runIds(query);
  countRuns: Host['countRuns'] = (filter) => this.#runs.countRuns(filter);
  samplesLeftOut: Host['samplesLeftOut'] = () => this.#runs.samplesLeftOut();
  runsSummary: Host['runsSummary'] = (filter) => this.#runs.runsSummary(filter);
  blockSums: Host['blockSums'] = () => this.#runs.blockSums();
  tagCounts: Host['tagCounts'] = () => this.#runs.tagCounts();
  tags: Host['tags'] = (requestId) => this.#runs.tags(requestId);
  tagRuns: Host['tagRuns'] = (requests, edits) => this.#runs.tagRuns(requests, edits);
  sessionsOf: Host['sessionsOf'] = (requests) => this.#runs.sessionsOf(requests);
  conversation: Host['conversation'] = (session, query) => this.#conversation.conversation(session, query);
  turnOf: Host['turnOf'] = (session, requestId) => this.#conversation.turnOf(session, requestId);
  forkTree: Host['forkTree'] = (session) => this.#conversation.forkTree(session);
  sessionTags: Host['sessionTags'] = (session) => this.#conversation.sessionTags(session);
  tagSession: Host['tagSession'] = (session, edits) => this.#conversation.tagSession(session, edits);
  settings: Host['settings'] = () => this.folderSettings.settings();
  planSettings: Host['planSettings'] = (text) => this.folderSettings.planSettings(text);
  writeSettings: Host['writeSettings'] = (text, stamp) => this.folderSettings.writeSettings(text, stamp);
  testModel: Host['testModel'] = () => this.folderSettings.testModel();
  deleteBackup: Host['deleteBackup'] = () => this.folderSettings.deleteBackup();
  clearCache: Host['clearCache'] = () => this.folderSettings.clearCache();
  ownSettings: Host['ownSettings'] = () => this.folderSettings.ownSettings();
  changeOwnSettings: Host['changeOwnSettings'] = (changes) => this.folderSettings.changeOwnSettings(changes);
  openWindow: Host['openWindow'] = () => this.folderSettings.openWindow();
  keepWindow: Host['keepWindow'] = (address) => this.folderSettings.keepWindow(address);
  async block(requestId: string, instanceId: string) {
    const detail = this.find(requestId).recorded.answers.blocks[instanceId];
    if (!detail) throw notRecorded(`the block ${instanceId}`);
    return structuredClone(detail);
  }
  async items(query: Parameters<Host['items']>[0]) {
    const wanted = [...this.#played.values()].filter((one) =>
      query.request ? one.row.id === query.request : one.row.sessionId === query.session,
    );
    return structuredClone(wanted.flatMap((one) => one.itemsOf(query.view)));
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
  /** No value of the recording is large. */
  async eventParts(requestId: string, from: number, limit: number): Promise<EventParts[]> {
    const events = await this.events(requestId, from, limit);
    return events.map(({ payload, ...event }) => ({ ...event, payload: { inline: payload } }));
  }
  async payload(): Promise<never> {
    throw notRecorded('a part of a large value');
  }
  async payloadFind(): Promise<never> {
    throw notRecorded('a text in a large value');
  }
  async payloadWhole(): Promise<never> {
    throw notRecorded('a large value');
  }
  payloadSave = this.payloadWhole;
  async watch(onNotice: (notice: Notice) => void) {
    this.#watchers.add(onNotice);
    return () => void this.#watchers.delete(onNotice);
  }

  protected find(requestId: string): Recording {
    const found = this.#played.get(requestId);
    if (!found) throw notRecorded(`the request ${requestId}`);
    return found;
  }

  /** Takes a request in. */
  protected add(recording: Recording): Recording {
    this.#played.set(recording.row.id, recording);
    return recording;
  }

  #play(recording: Recording) {
    setTimeout(() => {
      const goesOn = recording.advance();
      if (goesOn) this.#play(recording);
      this.#notify(recording);
    }, FRAME_MS * this.pace);
  }

  #touch({ row: { sessionId } }: Recording) {
    const mine = [...this.#played.values()].filter((one) => one.row.sessionId === sessionId);
    this.#sessions.set(sessionId, sessionOf(mine, this.#sessions.get(sessionId)));
  }

  #notify(recording: Recording) {
    this.#touch(recording);
    this.advance(recording);
    const { id, sessionId, status } = recording.row;
    for (const tell of this.#watchers)
      tell({
        kind: 'request',
        workspace: this.#workspace.dataFile,
        requestId: id,
        sessionId,
        seq: recording.seq,
        status,
      });
  }
}
