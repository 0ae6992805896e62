/**
 * `defineFlow`: the default export of a flow file.
 */

import type { ActionConfig, ActionOverride, Concurrency, FlowHook } from "./actions.js";
import type { BlockContext } from "./context.js";
import type { ChatConfig, OwnEntries, SchedulesConfig, WebhookConfig } from "./entries.js";
import type { Middleware, MiddlewareFn } from "./middleware.js";
import type { ResourceDefinitions, ScopedResourceDefinitions } from "./resources.js";
import type { LooseState, MaybePromise, Schema } from "./schema.js";
import type { ToolsConfig } from "./tools.js";
import type { VoiceConfig } from "./voice.js";
import type { RelayConfig } from "./relay.js";

/** The input of a projection: the state, and the resources that the flow itself declares. */
export interface ProjectionSource<S> {
  state: S;
  /** As `resources.<name>.state`. */
  resources: Readonly<Record<string, any>>;
}

/** What clients may see of a scope. Nothing is visible unless it is named here. */
export interface ClientProjection<S> {
  /** Top-level fields, unchanged. */
  expose?: readonly (keyof S & string)[];
  /** Values computed from the state. */
  derived?: Record<string, (source: ProjectionSource<S>) => unknown>;
}

export interface ScopeConfig<S> {
  stateSchema?: Schema<S, any>;
  client?: ClientProjection<S>;
  /** An older spelling of `client.derived`. Give one of the two. */
  clientData?: Record<string, (source: ProjectionSource<S>) => unknown>;
  /** An older place for resources; `resources` of the flow is the newer one. */
  resources?: ScopedResourceDefinitions;
  /** How often a write is retried if another request was faster. */
  cas?: { maxRetries?: number; baseDelayMs?: number };
}

export interface SessionConfig<S> extends ScopeConfig<S> {
  metadata?: Schema;
  /** Which completed requests a session keeps. */
  retention?: { maxItems?: number; maxAge?: number | string };
  /** How many earlier requests are part of the conversation (default 50); 0 or less means no limit. */
  historyWindow?: { turns: number };
  /** Fields that only the flow's own code writes. Flowglass only checks the names, because nothing else writes here. */
  serverOwned?: readonly (keyof S & string)[];
  /** For hosts where a client starts a session. Flowglass does not call it, and `check` says so. */
  createCheck?: (input: any) => unknown;
}

/** Blocks, or functions, that run around the root block of every action. */
export interface RequestConfig<S> extends Omit<ScopeConfig<S>, "resources"> {
  onStarted?: FlowHook;
  onCompleted?: FlowHook;
  onErrored?: FlowHook;
  onFinished?: FlowHook;
  /** Called for failures that do not end the request. */
  onStepErrored?: FlowHook;
  heartbeatIntervalMs?: number;
  sseHeartbeatMs?: number;
  /** Deletes a sequencer's checkpoint when it ends. Off, so that a finished run can be inspected. */
  cleanupCheckpointsOnTerminal?: boolean;
  mutationTimeoutMs?: number;
  concurrency?: Concurrency;
}

interface Authentication {
  /** For hosts that authenticate callers. The command line and the window set the user themselves. */
  resolvePrincipal?: (request: any) => unknown;
  defaultUserId?: string;
  requireUser?: boolean;
  requireOrg?: boolean;
}

/** One model call's tokens. */
export interface UsageEntry {
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
  cacheReadTokens?: number;
  cacheCreationTokens?: number;
}

/** `read-only`: tools can only read it. `hidden`: tools do not see it. Blocks can still access it by name. */
export type ResourceVisibility = "visible" | "read-only" | "hidden";

/** A resource or a collection, by its name in `ctx.resources`. */
export interface ResourceVisibilityTarget {
  readonly name: string;
  readonly ref: any;
}

/** It must return synchronously. */
export type ResourceVisibilityRule = (ctx: BlockContext, resource: ResourceVisibilityTarget) => ResourceVisibility;

export interface FlowDefinition<RS, SS, US, PS, A> {
  /** The name of the flow, as the command line and the flow list show it. */
  kind: string;
  /** The id of the base instance (default `kind`). */
  id?: string;
  /** Whether there is one instance, whose id is the flow's kind, or many, each with an id of its own. */
  cardinality?: "singleton" | "collection";
  description?: string;
  /** The actions that can be run. A flow without actions loads, but cannot run. */
  actions?: { [K in keyof A]: ActionConfig<A[K]> };
  /** One execution of one action. */
  request?: RequestConfig<RS>;
  /** One conversation. */
  session?: SessionConfig<SS>;
  /** One person, across their conversations and across flows. */
  user?: ScopeConfig<US>;
  /** One team. `org` and `project` name the same scope; give one of them. */
  project?: ScopeConfig<PS>;
  org?: ScopeConfig<PS>;
  /** Resources for all blocks of the flow. They override resources that blocks declare under the same name. */
  resources?: ResourceDefinitions;
  /** What resource tools may do with each resource; called at each access. */
  resourceVisibility?: ResourceVisibilityRule;
  /** Settings of tools for all generators of the flow. */
  tools?: ToolsConfig;
  /** Whether a run needs a user (default true). If false, the flow must not use user state. */
  requireUser?: boolean;
  authentication?: Authentication;
  /** Runs around every block of the flow, outermost first. */
  middleware?: readonly (Middleware | MiddlewareFn)[];
  /** Entries that only a dispatcher reaches, and `run --internal`. */
  internal?: OwnEntries;
  /** Messages that its sessions accept from each other. */
  relay?: RelayConfig;
  task?: OwnEntries;
  /** An older spelling of `task`. */
  tasks?: OwnEntries;
  /** Entries for events of providers, by provider and event. `flowglass trigger` fires them. */
  webhooks?: WebhookConfig;
  /** Entries for events of a bot. */
  chat?: ChatConfig;
  /** Entries for schedules. Flowglass does not fire them by the clock; use `flowglass trigger`. */
  schedules?: SchedulesConfig;
  /** The schema of `config`; each instance has its own `config`. */
  configSchema?: Schema;
  /** The settings of an instance, as `ctx.flow.config`. */
  config?: { [name: string]: any };
  /** Counts the tokens of a text for a model (default: a quarter of its characters). */
  tokenCounter?: {
    count(text: string, model: string): MaybePromise<number>;
    countMessages(messages: unknown[], model: string): MaybePromise<number>;
  };
  /** What tokens cost, in US dollars. */
  costEstimator?: { estimate(usage: UsageEntry, model: string): number };
  /**
   * Separates this flow's state of users or projects from that of other flows, and also resources without
   * `flowIsolation: false`.
   */
  isolateUserState?: boolean;
  isolateProjectState?: boolean;
  /** Same as `isolateProjectState`. */
  isolateOrgState?: boolean;

  // The following options are for other hosts. They have no effect here, and a warning says so.

  voice?: VoiceConfig;
  mcp?: unknown;
  work?: { onStarted?: FlowHook; onCompleted?: FlowHook; onErrored?: FlowHook; onFinished?: FlowHook };
  defaultBlockRenderer?: unknown;
}

type OwnEntryMaps = "internal" | "task" | "tasks";

/** Options that only the definition may have. */
type Fixed = "cardinality" | "mcp" | "chat" | "webhooks" | "schedules" | OwnEntryMaps | "configSchema";

/** Settings that override those of a definition. Actions are merged one by one; resources replace the old ones. */
export interface FlowOptions<A> extends Partial<
  Omit<FlowDefinition<any, any, any, any, any>, Fixed | "description" | "actions">
> {
  /** Distinguishes instances of one flow (default `kind`). */
  id?: string;
  /** Settings of existing actions, and new actions. */
  actions?: { [K in keyof A]?: ActionOverride } & { [name: string]: ActionOverride | undefined };
}

export interface FlowInstance<A = any> {
  readonly id: string;
  readonly kind: string;
  readonly actions: { readonly [K in keyof A]: ActionConfig<A[K]> };
}

/** A flow. Calling it creates another instance with some settings replaced. */
export interface FlowType<A = any> extends FlowInstance<A> {
  (options?: FlowOptions<A>): FlowType<A>;
}

/**
 * Defines a flow. A file's default export should be one.
 *
 * ```ts
 * export default defineFlow({
 *   kind: "chat",
 *   session: { stateSchema: z.object({ turns: z.number().default(0) }) },
 *   actions: { say: { inputSchema: z.object({ message: z.string() }), block: turn } },
 * });
 * ```
 */
export declare function defineFlow<
  RS extends object = LooseState,
  SS extends object = LooseState,
  US extends object = LooseState,
  PS extends object = LooseState,
  A extends Record<string, any> = Record<string, any>,
>(definition: FlowDefinition<RS, SS, US, PS, A>): FlowType<A>;
