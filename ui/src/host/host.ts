// The one interface between the window and whatever executes flows: the Rust side, or a recording held in memory.
// It knows no transport and no screen; a failed call always throws a Fault and nothing else.
import type { ConversationHost } from './conversation';
import type { ExperimentHost } from './experiments';
import type { RunsHost } from './runs';
import type { SettingsHost } from './settings';
import type { SharingHost } from './sharing';
import type {
  AgentAccess,
  Audience,
  BlockDetail,
  BlockSource,
  Change,
  ComparedQuery,
  ComparedRow,
  ComparisonHead,
  CheckpointRow,
  CompareQuery,
  DeletedRow,
  DesktopEvent,
  DifferenceQuery,
  EventParts,
  EventRow,
  Fault,
  FileCoverage,
  Filtered,
  FindQuery,
  FlowRow,
  FoldQuery,
  ForkOptions,
  FoundRow,
  GoingOn,
  ImportedSource,
  InsideQuery,
  Instant,
  Item,
  ItemQuery,
  ItemsQuery,
  Kept,
  MenuEntry,
  Models,
  ListedRequest,
  ListedSession,
  LocalsCompared,
  LocalsQuery,
  Notice,
  OpenedValue,
  Overview,
  EarlierWrite,
  OverviewQuery,
  PayloadHits,
  PayloadPage,
  PayloadQuery,
  PayloadSaved,
  PayloadReference,
  PlanRow,
  Printed,
  PrintQuery,
  Replay,
  ReplayedBlock,
  RequestQuery,
  RequestRow,
  BlockQuery,
  ResumeOptions,
  RowsQuery,
  RunFileRow,
  RunOptions,
  SearchPage,
  SessionQuery,
  Started,
  StateView,
  StepQuery,
  SuspensionQuery,
  SuspensionRow,
  TextQuery,
  TriggerOptions,
  Verified,
  VerifyProgress,
  VerifyQuery,
  ViewBatch,
  ViewCalls,
  ViewHead,
  ViewItems,
  ViewRow,
  ViewRows,
  Workspace,
  WhyQuery,
  WhyView,
  WriteRow,
} from './bindings';

export type * from './bindings';
export type ItemView = Audience;

export interface Host extends ConversationHost, ExperimentHost, RunsHost, SettingsHost, SharingHost {
  /** Whether this is a copy of one request in a file, in which nothing can run. */
  readonly isCopy?: boolean;
  /** The folder that is open; null before one was chosen. */
  workspace(): Promise<Workspace | null>;
  chooseWorkspace(dir: string): Promise<Workspace>;
  trustWorkspace(dir: string): Promise<Workspace>;
  /** Opens the folder again, whose database is only read and was changed by somebody. */
  reopenWorkspace(dir: string): Promise<Workspace>;
  /** A folder from the system's own dialog; null where none was chosen. */
  pickFolder(): Promise<string | null>;
  /** A file to be read, or with a path that is proposed one to be written. */
  pickFile(proposed: string | null): Promise<string | null>;
  /** Opens the flows that the program brings along. */
  openExamples(): Promise<Workspace>;
  /** Writes a first flow file into the open folder; answers its name. */
  writeFirstFlow(): Promise<string>;
  /** Opens a flow file with whatever this system edits it with. */
  openSource(file: string): Promise<void>;
  /** Shows the program's own log; answers where it is. */
  openLog(): Promise<string>;
  flows(): Promise<FlowRow[]>;
  source(file: string): Promise<string>;
  /** Loads a file that is held back, because its last load or run ended a process; answers with all flows. */
  loadAnyway(file: string): Promise<FlowRow[]>;
  startRun(options: RunOptions): Promise<Started>;
  /** Fires an entry by hand. */
  trigger(options: TriggerOptions): Promise<Started>;
  abort(requestId: string): Promise<void>;
  resume(requestId: string, options: ResumeOptions): Promise<GoingOn>;
  retry(requestId: string, models: Models): Promise<GoingOn>;
  fork(requestId: string, options: ForkOptions): Promise<GoingOn>;
  /** What each of these will do; nothing is run. Without a reply a resume is planned whatever is answered. */
  planResume(requestId: string, options: ResumeOptions): Promise<PlanRow>;
  planRetry(requestId: string, models: Models): Promise<PlanRow>;
  planFork(requestId: string, options: ForkOptions): Promise<PlanRow>;
  /** The file that a block was defined in, as an attempt of it ran; the newest one if none is named. */
  blockSource(requestId: string, path: string, attempt: number | null): Promise<BlockSource>;
  /** The author's files as a request ran them in one of its codes, the newest if none is named; the flow's first. */
  filesThatRan(requestId: string, code: string | null): Promise<ImportedSource[]>;
  /** How often the lines of a request's code ran, of one file or of all. Replays the request. */
  coverage(requestId: string, file: string | null): Promise<FileCoverage[]>;
  /** An instant inside a block, and the values there. Replays the block. */
  stepInside(requestId: string, query: InsideQuery): Promise<Instant>;
  /** The values of expressions at a statement, in every request that reached it. */
  printAt(query: PrintQuery): Promise<Printed>;
  /** What is inside a value of `stepInside` or `printAt`. */
  openValue(handle: string): Promise<OpenedValue>;
  /** Cancels the first pass over a request that a question about it has begun; the question fails. */
  cancelInside(): Promise<void>;
  /** Replays recorded runs with the current code. What was being verified before ends. */
  verify(query: VerifyQuery, onProgress: (progress: VerifyProgress) => void): Promise<Verified>;
  cancelVerify(): Promise<void>;
  /** The `.run` files of the folder. */
  runFiles(): Promise<RunFileRow[]>;
  /** Writes a request into a `.run` file, whose path is relative to the folder. */
  keepRun(requestId: string, file: string, replace: boolean): Promise<Kept>;
  /** How coding agents reach the open folder. */
  agentAccess(): Promise<AgentAccess>;
  /** Opens or closes the HTTP endpoint for coding agents. */
  letAgentsIn(wanted: boolean): Promise<AgentAccess>;
  /** The suspended and interrupted requests, each with whether it could be resumed with the current code. */
  waitingRequests(): Promise<RequestRow[]>;
  /** Answers which editor was started. */
  openInEditor(file: string, line: number, column: number | null): Promise<string>;
  /** Runs it again in memory with what was recorded, and writes nothing. */
  replay(requestId: string): Promise<Replay>;
  suspensions(query: SuspensionQuery): Promise<SuspensionRow[]>;
  search(query: TextQuery): Promise<SearchPage>;
  /** Who wrote to a place, such as `session.topic`. */
  history(requestId: string, place: string): Promise<WriteRow[]>;
  writtenBefore(requestId: string, place: string, seq: number): Promise<EarlierWrite | null>;
  /** Where a value or a text of a request comes from. */
  why(requestId: string, query: WhyQuery): Promise<WhyView>;
  journal(session: string): Promise<unknown[]>;
  checkpoints(requestId: string): Promise<CheckpointRow[]>;
  compare(query: CompareQuery): Promise<Change[]>;
  /** What a request comes from, and what comes from it: forks and retries. */
  related(requestId: string): Promise<RequestRow[]>;
  openComparison(left: string, right: string): Promise<ComparisonHead>;
  /** What the code of today does with what was recorded, beside what was recorded. */
  openReplay(requestId: string): Promise<ComparisonHead>;
  comparisonRows(comparison: number, query: ComparedQuery): Promise<ComparedRow[]>;
  nextDifference(comparison: number, query: DifferenceQuery): Promise<number | null>;
  replayedBlock(comparison: number, seq: number): Promise<ReplayedBlock>;
  /** Where the locals of two executions of a block first differ. Replays both. */
  compareLocals(query: LocalsQuery): Promise<LocalsCompared>;
  closeComparison(comparison: number): Promise<void>;
  deleteSession(session: string): Promise<DeletedRow>;
  /** What is done outside of the page. */
  desktopEvents(onEvent: (event: DesktopEvent) => void): Promise<() => void>;
  showMenu(entries: MenuEntry[]): Promise<void>;
  enableInMenu(ids: string[]): Promise<void>;
  setZoom(percent: number): Promise<void>;
  setTheme(theme: string): Promise<void>;
  sessions(query: SessionQuery): Promise<ListedSession[]>;
  requests(query: RequestQuery): Promise<ListedRequest[]>;
  block(requestId: string, instanceId: string): Promise<BlockDetail>;
  items(query: ItemQuery): Promise<Item[]>;
  stateAt(requestId: string, seq: number): Promise<StateView>;
  diff(requestId: string, from: number, to: number): Promise<Change[]>;
  flowStateDiff(requestId: string, from: number, to: number): Promise<Change[]>;
  events(requestId: string, from: number, limit: number): Promise<EventRow[]>;
  /** Raw events whose values stay where they are when they are large. */
  eventParts(requestId: string, from: number, limit: number): Promise<EventParts[]>;
  payload(reference: PayloadReference, query: PayloadQuery): Promise<PayloadPage>;
  payloadFind(reference: PayloadReference, text: string, from: number): Promise<PayloadHits>;
  /** Of a value, or of what stands at a path in it; at most 4 MB. */
  payloadWhole(reference: PayloadReference, path: string): Promise<unknown>;
  /** Writes it to a new file, whatever its size. */
  payloadSave(reference: PayloadReference, path: string, file: string): Promise<PayloadSaved>;
  openView(requestId: string): Promise<ViewHead>;
  closeView(view: number): Promise<void>;
  viewRows(view: number, query: RowsQuery): Promise<ViewRows>;
  viewItems(view: number, query: ItemsQuery): Promise<ViewItems>;
  /** Whether updates of a view tell of its items. */
  viewWatchItems(view: number, watching: boolean): Promise<void>;
  /** Answers how many rows there are now. */
  viewFold(view: number, query: FoldQuery): Promise<number>;
  viewFilter(view: number, text: string): Promise<Filtered>;
  viewFind(view: number, query: FindQuery): Promise<FoundRow | null>;
  viewRowOf(view: number, query: BlockQuery): Promise<FoundRow | null>;
  viewStep(view: number, query: StepQuery): Promise<number | null>;
  viewSeqAt(view: number, time: number): Promise<number>;
  viewTimeOf(view: number, seq: number): Promise<number | null>;
  viewBlocks(view: number, instanceIds: string[]): Promise<ViewRow[]>;
  /** Ticks and Calls that changed after an event, with what is directly around and inside of them. */
  viewCalls(view: number, afterSeq: number): Promise<ViewCalls>;
  viewOverview(view: number, query: OverviewQuery): Promise<Overview>;
  /** Batches of what advanced. The next one comes only after `viewAck`, so a slow window gets fewer and larger ones. */
  viewUpdates(onBatch: (batch: ViewBatch) => void): Promise<() => void>;
  viewAck(batch: number): Promise<void>;
  watch(onNotice: (notice: Notice) => void): Promise<() => void>;
}

const KINDS = ['notFound', 'refused', 'invalid', 'notLoaded', 'storage', 'internal'];

/** Anything that was thrown, as a Fault: the screens never have to guess what they caught. */
export function asFault(thrown: unknown): Fault {
  if (thrown && typeof thrown === 'object' && 'kind' in thrown && KINDS.includes(String(thrown.kind))) {
    return thrown as Fault;
  }
  if (thrown instanceof Error) return { kind: 'internal', message: thrown.message };
  return { kind: 'internal', message: typeof thrown === 'string' ? thrown : JSON.stringify(thrown) };
}
