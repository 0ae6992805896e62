// The host inside the desktop window: generated commands, unwrapped. The only file besides the generated
// bindings that may name Tauri, so that every other module also runs in a browser and in tests.
import { Channel } from '@tauri-apps/api/core';
import { commands, type DesktopEvent, type Notice, type TryProgress, type VerifyProgress } from './bindings';
import type { ViewBatch } from './bindings';
import { unwrap, type Host } from './host';

export const insideTauri = () => '__TAURI_INTERNALS__' in globalThis;

export function tauriHost(): Host {
  return {
    workspace: () => unwrap(commands.workspace()),
    chooseWorkspace: (dir) => unwrap(commands.chooseWorkspace(dir)),
    trustWorkspace: (dir) => unwrap(commands.trustWorkspace(dir)),
    reopenWorkspace: (dir) => unwrap(commands.reopenWorkspace(dir)),
    pickFolder: () => unwrap(commands.pickFolder()),
    pickFile: (proposed) => unwrap(commands.pickFile(proposed)),
    openExamples: () => unwrap(commands.openExamples()),
    writeFirstFlow: () => unwrap(commands.writeFirstFlow()),
    openSource: async (file) => void (await unwrap(commands.openSource(file))),
    openLog: () => unwrap(commands.openLog()),
    flows: () => unwrap(commands.flows()),
    source: (file) => unwrap(commands.source(file)),
    loadAnyway: (file) => unwrap(commands.loadAnyway(file)),
    startRun: (options) => unwrap(commands.startRun(options)),
    trigger: (options) => unwrap(commands.trigger(options)),
    abort: async (requestId) => void (await unwrap(commands.abort(requestId))),
    resume: (requestId, options) => unwrap(commands.resume(requestId, options)),
    retry: (requestId, models) => unwrap(commands.retry(requestId, models)),
    fork: (requestId, options) => unwrap(commands.fork(requestId, options)),
    planResume: (requestId, options) => unwrap(commands.planResume(requestId, options)),
    planRetry: (requestId, models) => unwrap(commands.planRetry(requestId, models)),
    planFork: (requestId, options) => unwrap(commands.planFork(requestId, options)),
    blockSource: (requestId, path) => unwrap(commands.blockSource(requestId, path)),
    filesThatRan: (requestId) => unwrap(commands.filesThatRan(requestId)),
    coverage: (requestId, file) => unwrap(commands.coverage(requestId, file)),
    stepInside: (requestId, query) => unwrap(commands.stepInside(requestId, query)),
    printAt: (query) => unwrap(commands.printAt(query)),
    verify: (query, onProgress) => unwrap(commands.verify(query, new Channel<VerifyProgress>(onProgress))),
    cancelVerify: async () => void (await unwrap(commands.cancelVerify())),
    runFiles: () => unwrap(commands.runFiles()),
    keepRun: (requestId, file, replace) => unwrap(commands.keepRun(requestId, file, replace)),
    agentAccess: () => unwrap(commands.agentAccess()),
    letAgentsIn: (wanted) => unwrap(commands.letAgentsIn(wanted)),
    waitingRequests: () => unwrap(commands.waitingRequests()),
    runs: (query) => unwrap(commands.runs(query)),
    runIds: (query) => unwrap(commands.runIds(query)),
    countRuns: (filter) => unwrap(commands.countRuns(filter)),
    runsSummary: (filter) => unwrap(commands.runsSummary(filter)),
    tagCounts: () => unwrap(commands.tagCounts()),
    tags: (requestId) => unwrap(commands.tags(requestId)),
    tagRuns: (requests, edits) => unwrap(commands.tagRuns(requests, edits)),
    sessionsOf: (requests) => unwrap(commands.sessionsOf(requests)),
    planTry: (query) => unwrap(commands.planTry(query)),
    tryOut: (query, onProgress) => unwrap(commands.tryOut(query, new Channel<TryProgress>(onProgress))),
    goOnTrying: (experiment, changed, onProgress) =>
      unwrap(commands.goOnTrying(experiment, changed, new Channel<TryProgress>(onProgress))),
    stopExperiments: async () => void (await unwrap(commands.stopExperiments())),
    experiments: (limit, offset) => unwrap(commands.experiments(limit, offset)),
    experiment: (id) => unwrap(commands.experiment(id)),
    adopt: (experiment, arm, write) => unwrap(commands.adopt(experiment, arm, write)),
    culprit: (query, onProgress) => unwrap(commands.culprit(query, new Channel<TryProgress>(onProgress))),
    openValue: (handle) => unwrap(commands.openValue(handle)),
    openInEditor: (file, line, column) => unwrap(commands.openInEditor(file, line, column)),
    replay: (requestId) => unwrap(commands.replay(requestId)),
    suspensions: (query) => unwrap(commands.suspensions(query)),
    search: (query) => unwrap(commands.search(query)),
    history: (requestId, place) => unwrap(commands.history(requestId, place)),
    writtenBefore: (requestId, place, seq) => unwrap(commands.writtenBefore(requestId, place, seq)),
    why: (requestId, query) => unwrap(commands.why(requestId, query)),
    journal: (session) => unwrap(commands.journal(session)),
    checkpoints: (requestId) => unwrap(commands.checkpoints(requestId)),
    compare: (query) => unwrap(commands.compare(query)),
    stats: () => unwrap(commands.stats()),
    checkData: () => unwrap(commands.checkData()),
    compact: () => unwrap(commands.compact()),
    deleteSession: (session) => unwrap(commands.deleteSession(session)),
    exportSession: (options) => unwrap(commands.exportSession(options)),
    exportPage: (options) => unwrap(commands.exportPage(options)),
    exportTrace: (request, to, replace) => unwrap(commands.exportTrace(request, to, replace)),
    importFile: (file) => unwrap(commands.importFile(file)),
    checkFile: (file) => unwrap(commands.checkFile(file)),
    related: (requestId) => unwrap(commands.related(requestId)),
    openComparison: (left, right) => unwrap(commands.openComparison(left, right)),
    openReplay: (requestId) => unwrap(commands.openReplay(requestId)),
    comparisonRows: (comparison, query) => unwrap(commands.comparisonRows(comparison, query)),
    nextDifference: (comparison, query) => unwrap(commands.nextDifference(comparison, query)),
    replayedBlock: (comparison, seq) => unwrap(commands.replayedBlock(comparison, seq)),
    closeComparison: async (comparison) => void (await unwrap(commands.closeComparison(comparison))),
    async desktopEvents(onEvent) {
      const channel = new Channel<DesktopEvent>(onEvent);
      await unwrap(commands.desktopEvents(channel));
      return () => void (channel.onmessage = () => {});
    },
    showMenu: async (entries) => void (await unwrap(commands.showMenu(entries))),
    enableInMenu: async (ids) => void (await unwrap(commands.enableInMenu(ids))),
    setZoom: async (percent) => void (await unwrap(commands.setZoom(percent))),
    setTheme: async (theme) => void (await unwrap(commands.setTheme(theme))),
    sessions: (query) => unwrap(commands.sessions(query)),
    requests: (query) => unwrap(commands.requests(query)),
    block: (requestId, instanceId) => unwrap(commands.block(requestId, instanceId)),
    items: (query) => unwrap(commands.items(query)),
    stateAt: (requestId, seq) => unwrap(commands.stateAt(requestId, seq)),
    diff: (requestId, from, to) => unwrap(commands.diff(requestId, from, to)),
    flowStateDiff: (requestId, from, to) => unwrap(commands.flowStateDiff(requestId, from, to)),
    events: (requestId, from, limit) => unwrap(commands.events(requestId, from, limit)),
    eventParts: (requestId, from, limit) => unwrap(commands.eventParts(requestId, from, limit)),
    payload: (reference, query) => unwrap(commands.payload(reference, query)),
    payloadFind: (reference, text, from) => unwrap(commands.payloadFind(reference, text, from)),
    payloadWhole: (reference, path) => unwrap(commands.payloadWhole(reference, path)),
    openView: (requestId) => unwrap(commands.openView(requestId)),
    closeView: async (view) => void (await unwrap(commands.closeView(view))),
    viewRows: (view, query) => unwrap(commands.viewRows(view, query)),
    viewItems: (view, query) => unwrap(commands.viewItems(view, query)),
    viewWatchItems: async (view, watching) => void (await unwrap(commands.viewWatchItems(view, watching))),
    viewFold: (view, fold) => unwrap(commands.viewFold(view, fold)),
    viewFilter: (view, text) => unwrap(commands.viewFilter(view, text)),
    viewFind: (view, query) => unwrap(commands.viewFind(view, query)),
    viewRowOf: (view, query) => unwrap(commands.viewRowOf(view, query)),
    viewStep: (view, query) => unwrap(commands.viewStep(view, query)),
    viewSeqAt: (view, time) => unwrap(commands.viewSeqAt(view, time)),
    viewTimeOf: (view, seq) => unwrap(commands.viewTimeOf(view, seq)),
    viewBlocks: (view, instanceIds) => unwrap(commands.viewBlocks(view, instanceIds)),
    viewCalls: (view, afterSeq) => unwrap(commands.viewCalls(view, afterSeq)),
    viewOverview: (view, query) => unwrap(commands.viewOverview(view, query)),
    async viewUpdates(onBatch) {
      const channel = new Channel<ViewBatch>(onBatch);
      await unwrap(commands.viewUpdates(channel));
      return () => void (channel.onmessage = () => {});
    },
    viewAck: async (batch) => void (await unwrap(commands.viewAck(batch))),
    async watch(onNotice) {
      const channel = new Channel<Notice>(onNotice);
      await unwrap(commands.watch(channel));
      // Nothing tells the other side to stop; a silent channel costs one message per notice until the window closes.
      return () => void (channel.onmessage = () => {});
    },
  };
}
