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

/** What a projection computes from: the state, and the resources that the flow itself declares. */
export interface ProjectionSource<S> {
  state: S;
  /** As `resources.<name>.state`. */
  resources: Readonly<Record<string, any>>;
}

/** What clients may see of a scope. Nothing is visible unless it is named here. */
export interface ClientProjection<S> {
  /** Top-level fields, as they are. */
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
  /** How often a write is tried again when another request was faster. */
  cas?: { maxRetries?: number; baseDelayMs?: number };
}

export interface SessionConfig<S> extends ScopeConfig<S> {
  metadata?: Schema;
  /** Which completed requests a session keeps. */
  retention?: { maxItems?: number; maxAge?: number | string };
  /** How many earlier requests take part in the conversation. 50 unless you say otherwise; 0 or less is no limit. */
  historyWindow?: { turns: number };
  /** Fields that only the flow's own code writes. Here nothing else does, so the names are checked, and that is all. */
  serverOwned?: readonly (keyof S & string)[];
  /** For hosts where a client begins a session. It is not asked here, and `check` says so. */
  createCheck?: (input: any) => unknown;
}

/** Blocks, or functions, that run around the root block of every action. */
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

interface Authentication {
  /** For hosts that know who asks. The command line and the window name the user themselves. */
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

/** `read-only`: read, and not written. `hidden`: as if it were not there. Blocks reach it by its name all the same. */
export type ResourceVisibility = "visible" | "read-only" | "hidden";

/** A resource or a collection, by its name in `ctx.resources`. */
export interface ResourceVisibilityTarget {
  readonly name: string;
  readonly ref: any;
}

/** It must answer at once. */
export type ResourceVisibilityRule = (ctx: BlockContext, resource: ResourceVisibilityTarget) => ResourceVisibility;

export interface FlowDefinition<RS, SS, US, PS, A> {
  /** The name of the flow, as the command line and the flow list show it. */
  kind: string;
  /** The id of the base instance; `kind` where nothing is said. */
  id?: string;
  /** Whether there is one instance, whose id is the flow's kind, or many, each with an id of its own. */
  cardinality?: "singleton" | "collection";
  description?: string;
  /** What can be run. A flow without actions loads, but there is nothing in it to run. */
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
  /** Resources that every block of the flow may reach. They win over those that blocks declare under the same name. */
  resources?: ResourceDefinitions;
  /** What the tools for resources may do with each of them, asked whenever they look. */
  resourceVisibility?: ResourceVisibilityRule;
  /** How tools are run, for every generator of the flow. */
  tools?: ToolsConfig;
  /** Whether a run needs a user. It does unless this is false, and then nothing may belong to one. */
  requireUser?: boolean;
  authentication?: Authentication;
  /** Runs around every block of the flow, outermost first. */
  middleware?: readonly (Middleware | MiddlewareFn)[];
  /** Entries that only a dispatcher reaches, and `run --internal`. */
  internal?: OwnEntries;
  /** Messages that its sessions take from each other. */
  relay?: RelayConfig;
  task?: OwnEntries;
  /** An older spelling of `task`. */
  tasks?: OwnEntries;
  /** What events of providers run, by provider and event. `flowglass trigger` fires them. */
  webhooks?: WebhookConfig;
  /** What events of a bot run. */
  chat?: ChatConfig;
  /** What a clock runs. Nothing here fires by the clock; `flowglass trigger` does. */
  schedules?: SchedulesConfig;
  /** The shape of `config`, of which each instance has its own. */
  configSchema?: Schema;
  /** The settings of an instance, as `ctx.flow.config`. */
  config?: { [name: string]: any };
  /** How long a text is for a model. A quarter of its characters, unless you know better. */
  tokenCounter?: {
    count(text: string, model: string): MaybePromise<number>;
    countMessages(messages: unknown[], model: string): MaybePromise<number>;
  };
  /** What tokens cost, in US dollars. */
  costEstimator?: { estimate(usage: UsageEntry, model: string): number };
  /**
   * Keeps the state that this flow has of people or projects apart from other flows', and the resources that do not say
   * `flowIsolation: false`.
   */
  isolateUserState?: boolean;
  isolateProjectState?: boolean;
  /** The same as `isolateProjectState`, under its other name. */
  isolateOrgState?: boolean;

  // The rest is for hosts that serve a flow in other ways. It changes nothing here, and a warning says so.

  voice?: VoiceConfig;
  mcp?: unknown;
  work?: { onStarted?: FlowHook; onCompleted?: FlowHook; onErrored?: FlowHook; onFinished?: FlowHook };
  defaultBlockRenderer?: unknown;
}

type OwnEntryMaps = "internal" | "task" | "tasks";

/** What belongs to the definition alone. */
type Fixed = "cardinality" | "mcp" | "chat" | "webhooks" | "schedules" | OwnEntryMaps | "configSchema";

/** Settings over those of a definition. Actions are merged one by one; resources replace those there were. */
export interface FlowOptions<A> extends Partial<
  Omit<FlowDefinition<any, any, any, any, any>, Fixed | "description" | "actions">
> {
  /** Tells instances of one flow apart. Its `kind`, unless you say otherwise. */
  id?: string;
  /** Settings of actions that are there, and whole new ones. */
  actions?: { [K in keyof A]?: ActionOverride } & { [name: string]: ActionOverride | undefined };
}

export interface FlowInstance<A = any> {
  readonly id: string;
  readonly kind: string;
  readonly actions: { readonly [K in keyof A]: ActionConfig<A[K]> };
}

/** A flow. Calling it makes another instance with some settings replaced. */
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
