// What the window asks the host about runs: requests of all sessions, and what people add to them.
import type { BlockSums, RunRow, RunsQuery, RunsSummary, SessionRow, TagCount, TagEdits, Tags } from './bindings';

export interface RunsHost {
  runs(query: RunsQuery): Promise<RunRow[]>;
  runIds(query: RunsQuery): Promise<string[]>;
  countRuns(filter: string): Promise<number>;
  /** Altogether, and by the day on which they began. Reads all of them. */
  runsSummary(filter: string): Promise<RunsSummary>;
  /** How the blocks of an action did over the newest runs that fit a filter. */
  blockSums(flow: string, action: string, filter: string): Promise<BlockSums>;
  /** The most used first. */
  tagCounts(): Promise<TagCount[]>;
  tags(requestId: string): Promise<Tags>;
  /** Answers how many requests there were. */
  tagRuns(requests: string[], edits: TagEdits): Promise<number>;
  /** The sessions of requests, each once. */
  sessionsOf(requests: string[]): Promise<SessionRow[]>;
}
