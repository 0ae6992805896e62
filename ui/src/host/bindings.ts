// The wire: every type and command the Rust side exposes, in the shape the generator writes them.
// Written by hand until the generator takes over; nothing but the wire belongs here.
import { invoke as __TAURI_INVOKE, type Channel } from '@tauri-apps/api/core';

export const commands = {
  workspace: () => typedError<Workspace, Fault>(__TAURI_INVOKE('workspace')),
  chooseWorkspace: (dir: string) => typedError<Workspace, Fault>(__TAURI_INVOKE('choose_workspace', { dir })),
  flows: () => typedError<FlowRow[], Fault>(__TAURI_INVOKE('flows')),
  source: (file: string) => typedError<string, Fault>(__TAURI_INVOKE('source', { file })),
  startRun: (options: RunOptions) => typedError<Started, Fault>(__TAURI_INVOKE('start_run', { options })),
  abort: (requestId: string) => typedError<null, Fault>(__TAURI_INVOKE('abort', { requestId })),
  sessions: (query: SessionQuery) => typedError<SessionRow[], Fault>(__TAURI_INVOKE('sessions', { query })),
  requests: (query: RequestQuery) => typedError<RequestRow[], Fault>(__TAURI_INVOKE('requests', { query })),
  timeline: (requestId: string, afterSeq: number) =>
    typedError<Timeline, Fault>(__TAURI_INVOKE('timeline', { requestId, afterSeq })),
  block: (requestId: string, instanceId: string) =>
    typedError<BlockDetail, Fault>(__TAURI_INVOKE('block', { requestId, instanceId })),
  items: (query: ItemQuery) => typedError<Item[], Fault>(__TAURI_INVOKE('items', { query })),
  stateAt: (requestId: string, seq: number) =>
    typedError<StateView, Fault>(__TAURI_INVOKE('state_at', { requestId, seq })),
  diff: (requestId: string, from: number, to: number) =>
    typedError<Change[], Fault>(__TAURI_INVOKE('diff', { requestId, from, to })),
  events: (requestId: string, from: number, limit: number) =>
    typedError<EventRow[], Fault>(__TAURI_INVOKE('events', { requestId, from, limit })),
  watch: (onNotice: Channel<Notice>) => typedError<null, Fault>(__TAURI_INVOKE('watch', { onNotice })),
};

export type Json = unknown;
export type RequestStatus =
  | 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'suspended' | 'interrupted' | 'aborted';
export type BlockKind = 'handler' | 'sequencer' | 'router' | 'generator';
export type BlockStatus = 'running' | 'completed' | 'failed' | 'suspended' | 'abandoned';
export type ItemView = 'all' | 'client' | 'history' | 'trace';

export type LoadError = { message: string; file?: string | null; line?: number | null; column?: number | null };
/** Static picture of a block: `steps` only for containers, one entry an operation. */
export type BlockShape = { name: string; kind: BlockKind; description?: string | null; steps?: StepShape[] | null };
export type StepShape = { op: string; label: string; blocks: BlockShape[] };
export type ActionRow = { name: string; description?: string | null; inputSchema?: Json; root: BlockShape };
export type FlowRow = { kind: string; file: string; actions: ActionRow[]; hasMock: boolean; error?: LoadError | null };
export type SessionRow = {
  id: string; flow: string; userId: string; projectId?: string | null; title?: string | null;
  requests: number; items: number; lastStatus: RequestStatus; createdAt: number; updatedAt: number;
  forkedFrom?: string | null;
};
export type ErrorInfo = {
  name: string; code?: string | null; message: string; path?: string | null;
  file?: string | null; line?: number | null; column?: number | null;
};
export type RequestRow = {
  id: string; sessionId: string; flow: string; action: string; userId: string; projectId?: string | null;
  status: RequestStatus; startedAt: number; finishedAt?: number | null; durationMs?: number | null;
  retryOf?: string | null; error?: ErrorInfo | null; mock: boolean; lastSeq: number;
};
/** `parent` is the instanceId of the enclosing block; `changes` and `items` count what this block made itself. */
export type BlockRow = {
  path: string; instanceId: string; parent?: string | null; name: string; kind: BlockKind; attempt: number;
  status: BlockStatus; startedAt: number; durationMs?: number | null; memoized: boolean;
  seqStart: number; seqEnd?: number | null; changes: number; items: number; error?: ErrorInfo | null;
};
export type Change = {
  scope: string; instanceId?: string | null; path: string; kind: 'added' | 'removed' | 'changed' | 'moved';
  old?: Json; new?: Json; seq?: number | null; by?: string | null;
};
export type Item = {
  id: string; type: string; status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  requestId: string; itemIndex: number; ts: number; transient?: boolean;
  agentType?: string | null; agentName?: string | null;
  provenance: { blockName: string; path: string; blockInstanceId: string; attempt: number };
  visibility: { client: boolean; history: boolean };
  [payload: string]: Json;
};
export type BlockDetail = { block: BlockRow; input?: Json; output?: Json; items: Item[]; changes: Change[] };
/** Every block that started or ended after the asked seq; `seq` is the newest event the answer includes. */
export type Timeline = { request: RequestRow; seq: number; blocks: BlockRow[] };
export type StateView = {
  seq: number; at: number; request?: Json; session?: Json; user?: Json; project?: Json;
  sequencers: Record<string, Json>; versions: Record<string, number>;
};
export type EventRow = {
  seq: number; at: number; kind: string; path?: string | null; instanceId?: string | null; payload: Json;
};
export type Workspace = {
  dir: string; name: string; dataFile: string; version: string; users: string[]; projects: string[];
};
export type RunOptions = {
  flow: string; action: string; userId: string; sessionId?: string | null; projectId?: string | null;
  input: Json; mock: boolean;
};
export type Started = { requestId: string; sessionId: string };
export type SessionQuery = {
  user?: string | null; flow?: string | null; status?: string | null; search?: string | null;
  limit: number; offset: number;
};
export type RequestQuery = { session?: string | null; status?: string | null; limit: number; offset: number };
export type ItemQuery = { session?: string | null; request?: string | null; view: ItemView };
export type Notice =
  | { kind: 'flows' }
  | { kind: 'request'; requestId: string; sessionId: string; seq: number; status: RequestStatus };
export type Fault =
  | { kind: 'notFound'; message: string }
  | { kind: 'refused'; message: string }
  | { kind: 'invalid'; message: string; details: { path: string; message: string }[] }
  | { kind: 'internal'; message: string };

type Result<T, E> = { status: 'ok'; data: T } | { status: 'error'; error: E };

async function typedError<T, E>(result: Promise<T>): Promise<Result<T, E>> {
  try {
    return { status: 'ok', data: await result };
  } catch (error) {
    if (error instanceof Error) throw error;
    return { status: 'error', error: error as E };
  }
}
