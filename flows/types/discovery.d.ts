/**
 * Types for task boards, for discovery by agents, and for coding agents as blocks.
 */

import type { Block } from "./blocks.js";
import type { MaybePromise, Schema } from "./schema.js";

/** The key of a context's function that starts another request. */
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
/** For packages with their own dispatching blocks; a flow uses `dispatcher()`. */
export declare function dispatchThroughSeam(ctx: object, spec: DispatchSpec): Promise<DispatchOutcome>;
/** Declares the target of a dispatching block; a flow without such an entry is refused. */
export declare function markDispatcher<B extends Block>(
  block: B,
  address: { type: "internal" | "task"; target: string; [more: string]: unknown },
): B;

export declare const TASK_ENTRY: unique symbol;
/** Marks an entry as created by a task board. */
export declare function markTaskEntry<E extends { block: Block }>(entry: E, mark: { boardId: string }): E;
export declare function isTaskEntry(value: unknown): boolean;

/** The error of `requireRequestHost`. */
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
 * Waits for the outcome of a task and returns its answer. In Flowglass this is an ordinary question, whose answer is an
 * `AskOutcome`.
 */
export declare function parkOnAsk(
  ctx: { suspend(options: any): Promise<unknown> },
  input: ParkOnAskInput,
): Promise<unknown>;
/** Always throws: Flowglass never asks an answered question again. */
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
  /** Its purpose, in one line. */
  purpose: string;
  /** How to use it. */
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
/** Lists the resources that are `llmReadable` and not hidden by the flow. */
export declare function resourcesManifestSource(): BlockManifestSource;
/** A tool that lists the entries of one domain or of all. */
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
