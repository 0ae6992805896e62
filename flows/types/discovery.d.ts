/**
 * What works with task boards, with what an agent can find, and with coding agents that are blocks.
 */

import type { Block } from "./blocks.js";
import type { MaybePromise, Schema } from "./schema.js";

/** Where a context has what starts another request. */
export declare const DISPATCH_SEAM: unique symbol;
export interface DispatchSpec {
  type?: "internal" | "task";
  /** The entry; `action` is a newer word for it. */
  target?: string;
  action?: string;
  flowKind?: string;
  session: { key: string } | { id: string } | { from: true };
  payload?: unknown;
  /** The block that sends. */
  from: string;
  provenance?: { [fact: string]: unknown };
}
export type DispatchOutcome =
  { ok: true; sessionId: string; requestId: string; adopted: boolean } | { ok: false; refused: string; detail: string };
/** For packages that make blocks of their own for it; a flow says `dispatcher()`. */
export declare function dispatchThroughSeam(ctx: object, spec: DispatchSpec): Promise<DispatchOutcome>;
/** Says of a block where it sends to; a flow that has no such entry is refused. */
export declare function markDispatcher<B extends Block>(
  block: B,
  address: { type: "internal" | "task"; target: string; [more: string]: unknown },
): B;

export declare const TASK_ENTRY: unique symbol;
/** An entry that a task board made. */
export declare function markTaskEntry<E extends { block: Block }>(entry: E, mark: { boardId: string }): E;
export declare function isTaskEntry(value: unknown): boolean;

/** What `requireRequestHost` throws. */
export declare class NoRequestHostError extends Error {
  readonly code: "no-request-host";
  constructor(detail?: string);
}

export interface ParkOnAskInput {
  gateId: string;
  binding: { board: string; taskId: string };
  message?: string;
  /** In milliseconds since 1970. */
  deadline?: number;
}
export type AskEndingErrorCode = "wait_timed_out" | "wait_task_failed" | "wait_task_cancelled";
export type AskOutcome =
  | { answered: true; answer: unknown }
  | { answered: false; error: { code: AskEndingErrorCode; message: string } }
  | { answered: false; stopped: true };
/**
 * Waits until somebody says how a task ended, and gives its answer. Here it is a question like any other: whoever
 * answers it submits an `AskOutcome`.
 */
export declare function parkOnAsk(
  ctx: { suspend(options: any): Promise<unknown> },
  input: ParkOnAskInput,
): Promise<unknown>;
/** Fails: a question that was answered is not asked again. */
export declare function recordedAskOutcome(...given: any[]): never;
export declare class AskEndedError extends Error {
  readonly code: AskEndingErrorCode;
  constructor(code: AskEndingErrorCode, message: string);
}
export declare class AskStoppedError extends Error {
  constructor();
}

export type ManifestDomain = "seats" | "channels" | "skills" | "resources";
export interface ManifestEntry {
  id: string;
  kind: string;
  /** What it is for, in a line. */
  purpose: string;
  /** How it is worked with. */
  contract?: string;
}
export interface BlockManifestSource {
  domain: ManifestDomain;
  origin?: string;
  entries(ctx: any): MaybePromise<readonly ManifestEntry[]>;
}
export interface ManifestRegistry {
  domains(): ManifestDomain[];
  source(domain: ManifestDomain): BlockManifestSource | undefined;
}
export declare const MANIFEST_DOMAINS: readonly ["seats", "channels", "skills", "resources"];
export declare function isManifestDomain(value: string): value is ManifestDomain;
/** One source for each domain. */
export declare function createManifestRegistry(sources: readonly BlockManifestSource[]): ManifestRegistry;
/** The resources that are `llmReadable`, and that the flow does not hide. */
export declare function resourcesManifestSource(): BlockManifestSource;
/** A tool that lists what there is, of one domain or of all. */
export declare function discoveryTools(registry: ManifestRegistry): { discover: Block };

export interface HarnessRunInput {
  prompt: string;
}
export interface HarnessRunEnvelope {
  source: string;
  status: "dispatched" | "running" | "completed" | "errored";
  sessionId: string | null;
  url: string | null;
  dispatchedAt: number;
}
export interface HarnessRunHandle extends HarnessRunEnvelope {
  outcome: "finished" | "stopped-at-limit" | "failed" | null;
  finalMessage: string | null;
  usage: { inputTokens: number; outputTokens: number } | null;
  cost: { usd: number; basis: "reported" | "estimated" } | null;
}
export declare const harnessRunInputSchema: Schema<HarnessRunInput, any>;
export declare const harnessRunEnvelopeSchema: Schema<HarnessRunEnvelope, any>;
export declare const harnessRunHandleSchema: Schema<HarnessRunHandle, any>;
