// What the window asks the host about runs: requests of all sessions, and what people add to them.
import type { BlockSums, RunRow, RunsQuery, RunsSummary, SessionRow, TagCount, TagEdits, Tags } from './bindings';

export interface RunsHost {
  runs(query: RunsQuery): Promise<RunRow[]>;
  runIds(query: RunsQuery): Promise<string[]>;
  /** Without samples of experiments, unless the filter asks for them. */
  countRuns(filter: string): Promise<number>;
  /** How many samples of experiments fit, where lists leave them out. */
  samplesLeftOut(filter: string): Promise<number>;
  /** Altogether, and by the day on which they began. Reads all of them. */
  runsSummary(filter: string): Promise<RunsSummary>;
  /** How the blocks of an action did over the newest runs that fit a filter. */
  blockSums(flow: string, action: string, filter: string): Promise<BlockSums>;
  /** The most used first. */
  tagCounts(): Promise<TagCount[]>;
  tags(requestId: string): Promise<Tags>;
  /** Answers how many were changed: those that are deleted are left out. */
  tagRuns(requests: string[], edits: TagEdits): Promise<number>;
  /** The sessions of requests, each once. */
  sessionsOf(requests: string[]): Promise<SessionRow[]>;
}
