/**
 * What `@flow-state-dev/core` has beside the builders: functions for handlers, tools over resources, tables of costs.
 */

import type { Block, BlockKind } from "./blocks.js";
import type { Capability } from "./capabilities.js";
import type { BlockContext } from "./context.js";
import type { RequestHost } from "./relay.js";
import type { JsonValue, LooseState, Schema } from "./schema.js";
import type { StateHandle } from "./state.js";

export { mapLimit } from "./value-functions.js";
export { whenAnyItem, whenResourceChanged, whenResourceMatching } from "./item-functions.js";
export * from "./model-functions.js";
export * from "./voice.js";

/** A function for `context` that gets the states it names. */
export declare function contextFn<
  T extends Partial<Record<"session" | "user" | "org" | "project" | "request", Schema>>,
>(
  schemas: T,
  fn: (states: { [K in keyof T]: T[K] extends Schema<infer S, any> ? S : never }, ctx: BlockContext) => string,
): (input: any, ctx: any) => string;

export interface ProviderTool {
  readonly __providerTool: true;
  readonly name: string;
  readonly tool: unknown;
}
export declare function providerTool(name: string, tool: unknown): ProviderTool;

export declare function rootCause(error: unknown): unknown;
export declare function isAbortLike(error: unknown): boolean;
export interface SerializedError {
  name: string;
  message: string;
  code?: string;
  cause?: SerializedError;
}
export declare function serializeError(error: unknown, depth?: number): SerializedError;
export declare function errorDetailsWithCause(error: {
  details?: Record<string, unknown>;
  cause?: unknown;
}): Record<string, unknown> | undefined;

/** Fields of a state that tell how far a piece of work is: `z.object({ ...lifecycleSchema(["open", "done"]) })`. */
export declare function lifecycleSchema<const S extends readonly [string, ...string[]]>(
  statuses: S,
): {
  status: LifecycleField<S[number]>;
  startedAt: LifecycleField<string | null>;
  completedAt: LifecycleField<string | null>;
  errorMessage: LifecycleField<string | null>;
};
type LifecycleField<T> = import("zod").ZodType<T, import("zod").ZodTypeDef, any>;
export type TracingLevel = "verbose" | "normal" | "minimal";
/** True: the engine keeps everything. */
export declare function isTraceObservabilityEnabled(): boolean;
export declare function resolveTracingLevel(explicit?: TracingLevel): TracingLevel;

/** Tools over all collections, for a generator's `tools`. */
export declare function resourceTools(): {
  createResource: Block;
  readResource: Block;
  updateResource: Block;
  deleteResource: Block;
  listResources: Block;
};
/** Reads the text of resources that are `llmReadable`. */
export declare function readResourceContentTool(): Block;
/** Replaces the text of resources that are `llmWritable`. */
export declare function writeResourceContentTool(): Block;
/** Find resources by path, by a line of their text, by words. */
export declare function resourceSearchTools(): {
  globResources: Block;
  grepResourceContent: Block;
  searchResources: Block;
};
export declare function resolveResourceByPath(path: string, ctx: any): Promise<any>;
export declare function resolveResourceByUri(uri: string, ctx: any): Promise<any>;

export interface ToolCacheEntry {
  output: unknown;
  storedAt: number;
  ttl?: number;
  toolName: string;
}
export interface ToolCacheStore {
  readonly defaultTtl: number;
  readonly defaultScope: "run" | "request" | "session";
  get(key: string): ToolCacheEntry | undefined;
  set(key: string, entry: ToolCacheEntry): void;
  delete(key: string): void;
  /** Answers how many entries went. */
  invalidate(keyOrPrefix: string): number;
  size(): number;
}
export interface ToolCacheAccessor {
  store(): ToolCacheStore;
  invalidate(keyOrPrefix: string): number;
  stats(): { entries: number };
}
export interface CreateToolCacheCapabilityOptions {
  defaultTtl?: number;
  maxEntries?: number;
  defaultScope?: "run" | "request" | "session";
  name?: string;
}
/** A cache for `cacheable` tools of the block that uses it and of those inside; the engine itself keeps it. */
export declare function createToolCacheCapability<const N extends string = "toolCache">(
  options?: Omit<CreateToolCacheCapabilityOptions, "name"> & { name?: N },
): Capability<{
  name: N;
  fns: ToolCacheAccessor;
  request: unknown;
  session: unknown;
  user: unknown;
  project: unknown;
  self: unknown;
  targets: {};
  resources: {};
}>;
export declare function createInMemoryToolCacheStore(
  options?: Omit<CreateToolCacheCapabilityOptions, "name">,
): ToolCacheStore;
export declare function bindToolCacheStore(ctx: unknown, store: ToolCacheStore): void;
/** Equal arguments have equal texts. */
export declare function canonicalizeToolArgs(value: unknown): string;

export interface ModelLookupEntry {
  keyword: string;
  charsPerToken: number;
  /** Dollars for a million tokens. */
  pricing?: {
    promptPer1M: number;
    completionPer1M: number;
    cacheReadPer1M?: number;
    cacheCreationPer1M?: number;
  };
}
export interface TokenCounter {
  count(text: string, model: string): Promise<number>;
  countMessages(messages: readonly any[], model: string): Promise<number>;
}
export declare const DEFAULT_MODEL_LOOKUP: ModelLookupEntry[];
export declare function findModelEntry(model: string, lookup?: ModelLookupEntry[]): ModelLookupEntry | undefined;
/** For `costEstimator` of a flow. */
export declare function modelPricingEstimator(lookup?: ModelLookupEntry[]): {
  estimate(usage: any, model: string): number;
};
export declare function createEstimateTokenCounter(lookup?: ModelLookupEntry[]): TokenCounter;
export declare const estimateTokenCounter: TokenCounter;
export declare function createTiktokenCounter(tiktoken: {
  encoding_for_model(model: any): { encode(text: string): { length: number } };
  get_encoding(name: any): { encode(text: string): { length: number } };
}): TokenCounter;

export declare const ROOT_BLOCK_PATH: string;
export declare function buildBlockInstanceId(requestId: string, path: string, attempt: number): string;
export declare function parseBlockInstanceId(
  id: string,
): { requestId: string; path: string; attempt: number } | undefined;
export declare function extendBlockPath(parent: string, segment: string): string;
export declare function blockPathSegment(operation: string, index: number): string;
export declare function blockPathIteration(iteration: number): string;
export declare function blockPathLoop(generation: number): string;
export declare function blockPathBranch(name: string): string;
export declare function blockPathRescue(index: number): string;
export declare function blockPathTool(name: string, call: string | number): string;

/** Fails when it is called: work beside a chain is started with `.work()`. */
export declare function getRequestWorkPool(...given: any[]): never;
/** Fails when it is called: the engine runs the handlers of `rescue`. */
export declare function runRescue(...given: any[]): never;
/** Fails when it is called: the engine shows `activeStatusMessage`. */
export declare function resolveActiveStatusMessage(...given: any[]): never;

// Names that other files of a project use for what this module calls otherwise.
export type BlockDefinition<I = any, O = any> = Block<I, O>;
export type BlockDefinitionKind = BlockKind;
export type JsonPrimitive = string | number | boolean | null;
export type JsonObject = { [key: string]: JsonValue };
export type SchemaInput<S> = S extends Schema<any, infer In> ? In : never;
export type SchemaOutput<S> = S extends Schema<infer Out, any> ? Out : never;
export type ScopeStateOps<S = LooseState> = StateHandle<S>;
export type LooseBlockContext<_S = LooseState> = any;
export type StateOf<T> = T extends { stateSchema?: Schema<infer S, any> }
  ? S
  : T extends Schema<infer S, any>
    ? S
    : never;
export type ResourceContext<S = LooseState> = StateHandle<S>;
/** Fails: `defineFlow` checks the entries of a flow where it is defined. */
export declare function validateChatConfig(...given: any[]): never;
export declare function validateScheduleConfig(...given: any[]): never;
export declare function validateSchedulesConfig(...given: any[]): never;
export declare function validateConcurrencyConfig(...given: any[]): never;
export declare function validateWebhookConfig(...given: any[]): never;
/** Fail when they are called: they are for hosts of another kind. */
export declare function buildReplayLog(...given: any[]): never;
/** `ctx.requestHost`; fails where the flow takes no messages. */
export declare function requireRequestHost(ctx?: { requestHost?: RequestHost }): RequestHost;
export declare function createBindingCache(...given: any[]): never;
export declare function applyGetOrPatchState(...given: any[]): never;

export declare const dispatchHandleSchema: Schema<{ sessionId: string; requestId: string; adopted: boolean }, any>;
export declare const DISPATCH_TYPES: readonly ["public", "internal", "task", "chat", "webhook", "schedule"];
/** The entry that a dispatch is for, of its own type's map. A webhook and a schedule say which they are. */
export declare function resolveEntry(
  flow: object,
  type: (typeof DISPATCH_TYPES)[number],
  name: string,
  coordinate?: { webhook?: { provider?: string; eventType?: string | null }; schedule?: { scheduleId?: string } },
): any;
/** Matches a message that begins with `/name`: its groups are the name, and what follows it. */
export declare const SLASH_COMMAND_PATTERN: RegExp;
export { collapseToCanonicalLog } from "./item-functions.js";
/** Warns, of each matter once. */
export declare function warnOnceDev(matter: string, message?: string): void;
