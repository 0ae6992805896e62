// The functions of the recorded host for the database and for resuming requests. It has no engine and no file, so those
// that need one fail with an explanation.
import type { OnProgress } from './experiments';
import { FakeViews } from './fake-views';
import { agentAccess } from './samples';
import type { BlockSource, Change, ComparedQuery, ComparedRow, CompareQuery, DifferenceQuery, Fault } from './host';
import type {
  Adopted,
  AgentAccess,
  ComparisonHead,
  CulpritQuery,
  CulpritView,
  EarlierWrite,
  ExperimentRow,
  ExperimentView,
  FileCoverage,
  GoingOn,
  ImportedSource,
  InsideQuery,
  Instant,
  Kept,
  OpenedValue,
  PlanRow,
  Printed,
  PrintQuery,
  Replay,
  RequestRow,
  RunFileRow,
  SearchPage,
  SuspensionRow,
  TextQuery,
  TryPlan,
  TryQuery,
  Verified,
  VerifyProgress,
  VerifyQuery,
  WhyQuery,
  WhyView,
  WriteRow,
} from './host';
import { notRecorded } from './recording';
import { lists, type Comparison } from './recorded';

const NO_ENGINE: Fault = { kind: 'refused', message: 'This is a recording: nothing in it can go on.' };
const NO_FILE: Fault = { kind: 'refused', message: 'This is a recording: there is no file behind it.' };

const noFile = (): Promise<never> => Promise.reject(NO_FILE);

const planOf = (again: PlanRow['again'], fromLog: number): PlanRow => ({
  fromLog,
  runsAgain: again.length,
  modelsAsked: again.reduce((sum, one) => sum + one.modelsAsked, 0),
  mayHaveHappened: [],
  again,
});

export abstract class FakeFiles extends FakeViews {
  async resume(): Promise<GoingOn> {
    throw NO_ENGINE;
  }
  async retry(): Promise<GoingOn> {
    throw NO_ENGINE;
  }
  async fork(): Promise<GoingOn> {
    throw NO_ENGINE;
  }
  /** As if every block ran again, because a recording has no engine. */
  async planResume(requestId: string): Promise<PlanRow> {
    const blocks = this.find(requestId).blocks();
    const open = blocks.filter((block) => block.status !== 'completed');
    const again = open.map((block) => ({ path: block.path, modelsAsked: block.kind === 'generator' ? 1 : 0 }));
    return planOf(again, blocks.length - again.length);
  }
  async planRetry(requestId: string): Promise<PlanRow> {
    const blocks = this.find(requestId).blocks();
    const again = blocks.map((block) => ({ path: block.path, modelsAsked: block.kind === 'generator' ? 1 : 0 }));
    return planOf(again, 0);
  }
  async planFork(requestId: string): Promise<PlanRow> {
    return this.planRetry(requestId);
  }
  async blockSource(): Promise<BlockSource> {
    throw NO_FILE;
  }
  async filesThatRan(_request: string): Promise<ImportedSource[]> {
    throw NO_FILE;
  }
  async coverage(_request: string, _file: string | null): Promise<FileCoverage[]> {
    throw NO_FILE;
  }
  async stepInside(_request: string, _query: InsideQuery): Promise<Instant> {
    throw NO_FILE;
  }
  async printAt(_query: PrintQuery): Promise<Printed> {
    throw NO_FILE;
  }
  async openValue(_handle: string): Promise<OpenedValue> {
    throw NO_FILE;
  }
  async cancelInside() {}
  /** As in a folder without recorded runs. */
  async verify(_query: VerifyQuery, _onProgress: (progress: VerifyProgress) => void): Promise<Verified> {
    const none = { same: 0, differs: 0, asksNew: 0, unaffected: 0, doesNotLoad: 0, notComparable: 0 };
    return { ...none, results: [], groups: [] };
  }
  async cancelVerify() {}
  async runFiles(): Promise<RunFileRow[]> {
    return [];
  }
  async agentAccess(): Promise<AgentAccess> {
    return agentAccess(false);
  }
  async letAgentsIn(wanted: boolean): Promise<AgentAccess> {
    return agentAccess(wanted);
  }
  async keepRun(_request: string, _file: string, _replace: boolean): Promise<Kept> {
    throw NO_FILE;
  }
  async waitingRequests(): Promise<RequestRow[]> {
    return [];
  }
  async planTry(_query: TryQuery): Promise<TryPlan> {
    throw NO_ENGINE;
  }
  async planCulprit(_query: CulpritQuery): Promise<TryPlan> {
    throw NO_ENGINE;
  }
  async tryOut(_query: TryQuery, _onProgress: OnProgress): Promise<ExperimentView> {
    throw NO_ENGINE;
  }
  async goOnTrying(_experiment: string, _changed: TryQuery, _onProgress: OnProgress): Promise<ExperimentView> {
    throw NO_ENGINE;
  }
  async planGoingOn(_experiment: string, _changed: TryQuery): Promise<TryPlan> {
    throw NO_ENGINE;
  }
  async stopExperiments() {}
  async experiments(_limit: number, _offset: number): Promise<ExperimentRow[]> {
    return [];
  }
  async experiment(id: string): Promise<ExperimentView> {
    throw notRecorded(`the experiment ${id}`);
  }
  async adopt(_experiment: string, _arm: string, _write: boolean): Promise<Adopted> {
    throw NO_FILE;
  }
  async culprit(_query: CulpritQuery, _onProgress: OnProgress): Promise<CulpritView> {
    throw NO_ENGINE;
  }
  openInEditor = noFile;
  async replay(requestId: string): Promise<Replay> {
    return this.find(requestId).recorded.answers.replay;
  }
  async suspensions(): Promise<SuspensionRow[]> {
    return lists.suspensions;
  }
  openSource = noFile;
  async pickFolder(): Promise<string | null> {
    return null;
  }
  /** As if the dialog was cancelled. */
  async pickFile(_proposed: string | null): Promise<string | null> {
    return null;
  }
  writeFirstFlow = (): Promise<string> => noFile();
  search = async (_query: TextQuery): Promise<SearchPage> => ({ hits: [], requests: [], samples: 0 });
  async history(requestId: string, place: string): Promise<WriteRow[]> {
    const found = this.find(requestId).recorded.answers.history[place];
    if (!found) throw notRecorded(`who wrote to ${place}`);
    return found;
  }
  async writtenBefore(): Promise<EarlierWrite | null> {
    return null;
  }
  async why(_request: string, _query: WhyQuery): Promise<WhyView> {
    throw notRecorded('where a value comes from');
  }
  async journal(): Promise<unknown[]> {
    return [];
  }
  async checkpoints(requestId: string) {
    return this.find(requestId).recorded.answers.checkpoints;
  }
  /** For two requests, only those that were compared when the answers were recorded. */
  async compare({ left, right, from, to }: CompareQuery): Promise<Change[]> {
    const found = this.find(left);
    if (!right || right === left) return found.diff(from ?? found.recorded.head.start, to ?? found.seq);
    if (left === 'req-2' && right === 'req-3') return lists.compare;
    throw notRecorded(`what differs between ${left} and ${right}`);
  }
  async related() {
    return [];
  }
  #comparison: Comparison | null = null;
  /** Only for the two requests that were compared when the answers were recorded. */
  async openComparison(left: string, right: string): Promise<ComparisonHead> {
    if (left !== 'req-2' || right !== 'req-3') throw notRecorded(`how ${left} and ${right} differ`);
    this.#comparison = lists.comparison;
    return lists.comparison.head;
  }
  async openReplay(requestId: string): Promise<ComparisonHead> {
    if (requestId !== 'req-3') throw notRecorded(`what ${requestId} does today`);
    this.#comparison = lists.replayed;
    return lists.replayed.head;
  }
  async comparisonRows(_: number, { offset, limit, all }: ComparedQuery) {
    return this.#compared(all).slice(offset, offset + limit);
  }
  async nextDifference(_: number, { from, backwards, all }: DifferenceQuery) {
    const isNext = (row: ComparedRow) =>
      row.differs.length > 0 && (from == null || (backwards ? row.row < from : row.row > from));
    const rows = this.#compared(all);
    return (backwards ? rows.findLast(isNext) : rows.find(isNext))?.row ?? null;
  }
  #compared(all: boolean | undefined) {
    return (all ? this.#comparison?.all : this.#comparison?.shown) ?? [];
  }
  async replayedBlock(_: number, seq: number): Promise<never> {
    throw notRecorded(`what the block that began with event ${seq} did`);
  }
  compareLocals = noFile;
  async closeComparison() {}
  async stats() {
    return lists.stats;
  }
  async checkData() {
    return lists.checkData;
  }
  compact = noFile;
  deleteSession = noFile;
  missingSecrets = async (): Promise<string[]> => [];
  exportSession = noFile;
  exportPage = noFile;
  exportTrace = noFile;
  importFile = noFile;
  runnable = noFile;
  traceReceiver = async () => null;
  serve = async (wanted: boolean) => (wanted ? { endpoint: 'http://127.0.0.1:4318' } : null);
  checkFile = noFile;
  /** A browser tab has no native menu and no desktop events. */
  async desktopEvents() {
    return () => {};
  }
  async showMenu() {}
  async enableInMenu() {}
  async setZoom() {}
  async setTheme() {}
}
