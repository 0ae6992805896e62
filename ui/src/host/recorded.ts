// The files that the engine's answers were written to, as texts: a request is read when somebody plays it.
import type {
  Change,
  ComparedRow,
  ComparisonHead,
  DataCheck,
  Fault,
  FlowRow,
  ListedRequest,
  ListedSession,
  Stats,
  SuspensionRow,
  Workspace,
} from './host';
import chat from './recorded/chat.json?raw';
import failed from './recorded/failed.json?raw';
import research from './recorded/research.json?raw';
import stress from './recorded/stress.json?raw';
import ofWorkspace from './recorded/workspace.json?raw';

export const runs = { chat, research, failed, stress };

/** A comparison with its rows: those that differ, and all. */
export type Comparison = { head: ComparisonHead; shown: ComparedRow[]; all: ComparedRow[] };

export type Lists = {
  workspace: Workspace;
  flows: FlowRow[];
  sources: Record<string, string>;
  sessions: ListedSession[];
  requests: ListedRequest[];
  suspensions: SuspensionRow[];
  stats: Stats;
  checkData: DataCheck;
  compare: Change[];
  /** `req-2` beside `req-3`, and `req-3` beside its replay. */
  comparison: Comparison;
  replayed: Comparison;
  refused: { nothing: Fault; unknown: Fault };
};

/** What belongs to no request. */
export const lists = JSON.parse(ofWorkspace) as Lists;
