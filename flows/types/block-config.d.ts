/**
 * What blocks of every kind are configured with, and how their schemas decide what `ctx` is.
 */

import type { Middleware, MiddlewareFn } from "./middleware.js";
import type { CacheConfig, ContainerConfig, RescueHandler, RetryPolicy } from "./blocks.js";
import type { Brought, CapabilityMap, OwnState, Use } from "./capabilities.js";
import type { BlockContext } from "./context.js";
import type { ModelIdentity } from "./item.js";
import type { PlacedIn } from "./resource-handles.js";
import type { MaybePromise, Schema } from "./schema.js";
import type { ToolApproval } from "./tools.js";

/**
 * The slices of state a block touches. Declaring them types `ctx`, and lets the engine refuse two declarations of one
 * field that cannot both hold. `org…` and `project…` name the same scope; give one of them.
 */
export interface Schemas<RS, SS, US, PS> {
  requestStateSchema?: Schema<RS, any>;
  sessionStateSchema?: Schema<SS, any>;
  userStateSchema?: Schema<US, any>;
  orgStateSchema?: Schema<PS, any>;
  projectStateSchema?: Schema<PS, any>;
}

/** Everything a block can declare of its surroundings, as `BlockConfig` is told it. */
export interface Surroundings<RS, SS, US, PS, QS, Self, Parent, ParentIn, T, Res, SR, UR, PR, C extends Use> {
  request: RS;
  session: SS;
  user: US;
  project: PS;
  sequencer: QS;
  self: Self;
  parent: Parent;
  parentInput: ParentIn;
  targets: T;
  resources: Res;
  sessionResources: SR;
  userResources: UR;
  projectResources: PR;
  capability: C;
}

export type AnySurroundings = Surroundings<any, any, any, any, any, any, any, any, any, any, any, any, any, any>;

/** `ctx` of a block, put together from its declarations and from what its capabilities bring. */
export type ContextOf<D extends AnySurroundings> = BlockContext<{
  request: D["request"] & Brought<D["capability"], "request">;
  session: D["session"] & Brought<D["capability"], "session">;
  user: D["user"] & Brought<D["capability"], "user">;
  project: D["project"] & Brought<D["capability"], "project">;
  sequencer: D["sequencer"];
  self: OwnState<D["self"], D["capability"]>;
  parent: D["parent"];
  parentInput: D["parentInput"];
  targets: D["targets"] & Brought<D["capability"], "targets">;
  resources: AllResources<D>;
  cap: CapabilityMap<D["capability"]>;
}>;

type AllResources<D extends AnySurroundings> = D["resources"] &
  PlacedIn<D["sessionResources"], "session"> &
  PlacedIn<D["userResources"], "user"> &
  PlacedIn<D["projectResources"], "project"> &
  Brought<D["capability"], "resources">;

/** What a block's `onCompleted` learns besides its output. `model` is there for generators. */
export interface CompletionMeta {
  model?: ModelIdentity;
}

/** What every kind of block may be configured with. */
export interface BlockConfig<I, RawI, Raw, OIn, O, D extends AnySurroundings, Ctx> extends Schemas<
  D["request"],
  D["session"],
  D["user"],
  D["project"]
> {
  /** Becomes part of the logical path, by which a resumed run recognises what it has already done. */
  name: string;
  /** Said about an action or a tool, to people and to models. */
  description?: string;
  /** Input is parsed with it before the block runs, so `execute` sees defaults filled in. */
  inputSchema?: Schema<I, RawI>;
  /** Output is parsed with it before it leaves the block. */
  outputSchema?: Schema<O, OIn>;
  /** State of this one execution, as `ctx.self`. */
  stateSchema?: Schema<D["self"], any>;
  /** The slice of the enclosing sequencer's state that this block reads or writes. */
  sequencerStateSchema?: Schema<D["sequencer"], any>;
  /** The state of blocks reached as `ctx.targets.<name>`. */
  targetStateSchemas?: { [K in keyof D["targets"]]: Schema<D["targets"][K], any> };
  /** The input and the state of the block that dispatches this one, as `ctx.parent`. */
  parentInputSchema?: Schema<D["parentInput"], any>;
  parentStateSchema?: Schema<D["parent"], any>;
  /** Resources this block uses, by the name they get in `ctx.resources`. */
  resources?: D["resources"];
  /** Three older places for resources, by scope. */
  sessionResources?: D["sessionResources"];
  userResources?: D["userResources"];
  projectResources?: D["projectResources"];
  orgResources?: D["projectResources"];
  /** An older way to say what this block expects of its flow's resources; declared with `resources` they are typed. */
  sessionResourceSchemas?: unknown;
  userResourceSchemas?: unknown;
  projectResourceSchemas?: unknown;
  orgResourceSchemas?: unknown;
  /** What this block shares with others: functions in `ctx.cap`, state, resources, and for generators context and tools. */
  uses?: readonly D["capability"][];
  /** Turns what the chain hands over into this block's input. Annotate `raw` to say what it may be. */
  connectInput?: (raw: Raw, ctx: Ctx) => MaybePromise<RawI>;
  /** Shown as a status when the block starts. */
  activeStatusMessage?: string | ((input: I, ctx: Ctx) => string);
  /** Runs inside the block: if it throws, the block fails. */
  onCompleted?: (output: O, ctx: Ctx, meta?: CompletionMeta) => unknown;
  /** Hears of a failure and cannot change it. A suspension is none. */
  onErrored?: (error: Error, ctx: Ctx) => unknown;
  retry?: RetryPolicy;
  /** Where a generator has the block as a tool: how long one call may take, 0 for as long as it takes. */
  timeoutMs?: number;
  /** What to do about a failure when no further retry follows. */
  rescue?: readonly RescueHandler[];
  /** Keeps the block's own execution record out of the session. What it emits is not affected. */
  transient?: boolean;
  /** Sequencers and routers only: groups what is emitted inside. */
  container?: ContainerConfig<I>;
  /** Refuses to run without a project. */
  requireOrg?: boolean;
  /** As a tool of a generator with a cache (`createToolCacheCapability`): equal calls are answered once. */
  cacheable?: boolean | CacheConfig<I, O>;
  /** Where a generator has this block as a tool: which calls a person must allow first. */
  approval?: ToolApproval<I, Ctx>;
  /** Runs around this block, inside of the flow's own; outermost first. */
  middleware?: readonly (Middleware | MiddlewareFn)[];
}
