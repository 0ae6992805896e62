// The files that the engine's answers were written to, as texts: a request is read when somebody plays it.
import type {
  Change,
  DataCheck,
  Fault,
  FlowRow,
  RequestRow,
  SessionRow,
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

export type Lists = {
  workspace: Workspace;
  flows: FlowRow[];
  sources: Record<string, string>;
  sessions: SessionRow[];
  requests: RequestRow[];
  suspensions: SuspensionRow[];
  stats: Stats;
  checkData: DataCheck;
  compare: Change[];
  refused: { nothing: Fault; unknown: Fault };
};

/** What belongs to no request. */
export const lists = JSON.parse(ofWorkspace) as Lists;
