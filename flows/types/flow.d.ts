/**
 * `defineFlow`: the default export of a flow file.
 */

import type { Block } from "./blocks.js";
import type { BlockContext } from "./context.js";
import type { ResourceDefinitions, ScopedResourceDefinitions } from "./resources.js";
import type { LooseState, MaybePromise, Schema } from "./schema.js";

/** What clients may see of a scope. Nothing is visible unless it is named here. */
export interface ClientProjection<S> {
  /** Top-level fields, as they are. */
  expose?: readonly (keyof S & string)[];
  /** Values computed from the state. */
  derived?: Record<string, (source: { state: S; resources: any }) => unknown>;
}

export interface ScopeConfig<S> {
  stateSchema?: Schema<S, any>;
  client?: ClientProjection<S>;
  /** An older spelling of `client.derived`. Give one of the two. */
  clientData?: Record<string, (source: { state: S; resources: any }) => unknown>;
  /** An older place for resources; `resources` of the flow is the newer one. */
  resources?: ScopedResourceDefinitions;
  /** How often a write is tried again when another request was faster. */
  cas?: { maxRetries?: number; baseDelayMs?: number };
}

export interface SessionConfig<S> extends ScopeConfig<S> {
  metadata?: Schema;
  /** Which completed requests a session keeps. */
  retention?: { maxItems?: number; maxAge?: number | string };
  /** How many earlier requests take part in the conversation. 50 unless you say otherwise. */
  historyWindow?: { turns: number };
}

/** A block, or a function that becomes a handler. */
type FlowHook = Block<any, any> | ((value: any, ctx: BlockContext) => unknown);

export interface RequestConfig<S> extends Omit<ScopeConfig<S>, "resources"> {
  onStarted?: FlowHook;
  onCompleted?: FlowHook;
  onErrored?: FlowHook;
  onFinished?: FlowHook;
  /** Hears of failures that do not end the request. */
  onStepErrored?: FlowHook;
  heartbeatIntervalMs?: number;
  sseHeartbeatMs?: number;
  /** Deletes a sequencer's checkpoint when it ends. Off, so that a finished run can be inspected. */
  cleanupCheckpointsOnTerminal?: boolean;
  mutationTimeoutMs?: number;
  concurrency?: Concurrency;
}

export type ConcurrencyPolicy = "allow" | "queue" | "reject";

/** What happens when an action is started while another one runs, by default in the same session. */
export type Concurrency =
  | ConcurrencyPolicy
  | {
      policy: ConcurrencyPolicy;
      key?: "session" | "user" | "none" | ((request: ConcurrencyRequest) => string | undefined);
    };

export interface ConcurrencyRequest {
  flowKind: string;
  actionName: string;
  sessionId?: string;
  userId: string;
  projectId?: string;
  orgId?: string;
  metadata?: Record<string, unknown>;
}

type ActionRoot<I> =
  | { block: Block<I, any>; steps?: undefined }
  /** An older spelling of `block`. */
  | { steps: Block<I, any>; block?: undefined };

/** One thing a caller can run. */
export type ActionConfig<I = any> = ActionRoot<I> & {
  /** What a caller must give. Without it, the input schema of the root block. The run form is made from it. */
  inputSchema?: Schema<I, any>;
  description?: string;
  onCompleted?: FlowHook;
  onErrored?: FlowHook;
  /** The text of a user message that is emitted before the root block runs. */
  userMessage?: (input: I) => string;
  concurrency?: Concurrency;
  durable?: boolean;
  tokenBudget?: { maxTotalTokens: number; warnAt?: number; onExceeded?: "error" | "stop" | "warn" };
  mcp?: { enabled?: true; name?: string; session?: unknown };
};

export interface ToolEvent {
  toolName: string;
  input: any;
  output?: any;
  error?: Error;
  cached?: boolean;
}

type ToolHook = Block | ((event: ToolEvent, ctx: BlockContext) => unknown);

/** How the tools of generators are run. Settings of the flow reach every generator in it. */
export interface ToolsConfig {
  defaults?: {
    timeoutMs?: number;
    concurrency?: "parallel" | "serial";
    retry?: { maxAttempts?: number; baseDelayMs?: number; maxDelayMs?: number };
  };
  onToolStarted?: ToolHook;
  onToolCompleted?: ToolHook;
  onToolErrored?: ToolHook;
}

export interface FlowDefinition<RS, SS, US, PS, A> {
  /** The name of the flow, as the command line and the flow list show it. */
  kind: string;
  description?: string;
  /** A flow without actions loads, but there is nothing in it to run. */
  actions?: { [K in keyof A]: ActionConfig<A[K]> };
  request?: RequestConfig<RS>;
  session?: SessionConfig<SS>;
  user?: ScopeConfig<US>;
  /** `org` and `project` name the same scope; give one of them. */
  project?: ScopeConfig<PS>;
  org?: ScopeConfig<PS>;
  resources?: ResourceDefinitions;
  tools?: ToolsConfig;
  requireUser?: boolean;
  authentication?: {
    resolvePrincipal?: (request: any) => unknown;
    defaultUserId?: string;
    requireUser?: boolean;
    requireOrg?: boolean;
  };
  middleware?: readonly unknown[];
  tokenCounter?: {
    count(text: string, model: string): MaybePromise<number>;
    countMessages(messages: unknown[], model: string): MaybePromise<number>;
  };
  costEstimator?: { estimate(usage: any, model: string): number };
  /** Keeps this flow's user or project state apart from that of other flows. */
  isolateUserState?: boolean;
  isolateProjectState?: boolean;
  isolateOrgState?: boolean;
}

export interface FlowInstance {
  readonly id: string;
  readonly kind: string;
  readonly actions: Readonly<Record<string, ActionConfig<any>>>;
}

/** A flow. Calling it makes another instance with some settings replaced. */
export interface FlowType extends FlowInstance {
  (options?: { id?: string } & Partial<FlowDefinition<any, any, any, any, Record<string, any>>>): FlowInstance;
}

export declare function defineFlow<
  RS extends object = LooseState,
  SS extends object = LooseState,
  US extends object = LooseState,
  PS extends object = LooseState,
  A extends Record<string, any> = Record<string, any>,
>(definition: FlowDefinition<RS, SS, US, PS, A>): FlowType;
