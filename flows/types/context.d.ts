/**
 * `ctx`, the second argument of everything an author writes.
 */

import type { Block } from "./blocks.js";
import type { ComponentOptions, Content, EmitNamespace, MessageOptions, StatusOptions } from "./items.js";
import type { ResourceMap } from "./resources.js";
import type { LooseState } from "./schema.js";
import type { ProjectScopeHandle, RequestScopeHandle, SessionScopeHandle, UserScopeHandle } from "./scopes.js";
import type { StateHandle, TargetHandle } from "./state.js";
import type { SuspendOptions } from "./errors.js";

/** The state each scope is declared with. A block that declares nothing gets loose records. */
export interface ContextTypes {
  request: unknown;
  session: unknown;
  user: unknown;
  project: unknown;
  sequencer: unknown;
  self: unknown;
  parent: unknown;
  parentInput: any;
  targets: unknown;
  resources: unknown;
}

export interface LooseTypes {
  request: LooseState;
  session: LooseState;
  user: LooseState;
  project: LooseState;
  sequencer: LooseState;
  self: LooseState;
  parent: LooseState;
  parentInput: any;
  targets: {};
  resources: {};
}

/** The block that dispatched this one. Its state members exist only if it declares a `stateSchema`. */
export type ParentHandle<S = LooseState, I = any> = Partial<StateHandle<S>> & {
  readonly name: string;
  readonly kind: string;
  readonly input: I;
};

export type BlockResult<O> =
  | { status: "not_started" }
  | { status: "running" }
  | { status: "completed"; output: O }
  | { status: "failed"; error: Error };

export interface RequestRuntime {
  readonly requestId: string;
  readonly actionName: string;
  readonly status: string;
  readonly startedAtMs: number;
  readonly metadata?: Record<string, unknown>;
}

/** What handlers and the callbacks of a sequencer have in common. */
export interface ContextBase<T extends ContextTypes = LooseTypes> {
  readonly request: RequestScopeHandle<T["request"]>;
  readonly session: SessionScopeHandle<T["session"]>;
  readonly user: UserScopeHandle<T["user"]>;
  /** Undefined when the run was started without a project, so read it with `?.` and have a fallback. */
  readonly project: ProjectScopeHandle<T["project"]> | undefined;
  /** The same scope as `project`, under its other name. */
  readonly org: ProjectScopeHandle<T["project"]> | undefined;

  /** This block's own state, if it declares a `stateSchema`. */
  readonly self: TargetHandle<T["self"]> | undefined;
  readonly parent: ParentHandle<T["parent"], T["parentInput"]> | undefined;
  readonly targets: { readonly [K in keyof T["targets"]]: TargetHandle<T["targets"][K]> | undefined } & {
    readonly [name: string]: TargetHandle<any> | undefined;
  };
  /** Finds a block that ran before this one, or one that encloses it. Fails if two enclosing blocks share the name. */
  getTarget<S = LooseState>(name: string): TargetHandle<S> | undefined;
  getBlockOutput<O>(block: Block<any, O>): O | undefined;
  getBlockResult<O>(block: Block<any, O>): BlockResult<O>;
  wasRescued(block: string | Block<any, any>): boolean;

  readonly resources: ResourceMap<T["resources"]>;
  /** What each capability in `uses` offers, by its name. */
  readonly cap: Record<string, any>;
  readonly settings: Readonly<Record<string, any>>;

  readonly emit: EmitNamespace;
  /** What the request has shown so far. */
  readonly response: { getItems(): readonly any[]; getItemCount(): number };
  emitMessage(content: string | Content[], options?: MessageOptions): void;
  emitComponent(name: string, data: unknown, options?: ComponentOptions): void;
  emitStatus(message?: string, options?: StatusOptions): void;

  /** Aborts when the request is cancelled. Pass it to `fetch`, and check it in long loops. */
  readonly signal: AbortSignal;
  /** Counts from 0 and grows with each retry of this block. */
  readonly attempt: number;
  /** `requestId:path`, the same for every attempt and after a resume. Give it to services that accept such a key. */
  readonly idempotencyKey: string;
  readonly requestRuntime: RequestRuntime;
  /** Runs `fn` once per request and key. A resume answers with the recorded result, which therefore must be JSON. */
  runOnce<R>(key: string, fn: () => R | Promise<R>): Promise<R>;
  /** Stops here until somebody answers. The call returns the answer once the run is resumed. */
  suspend<R = any>(options: SuspendOptions<R>): Promise<R>;
  saveCheckpoint(): Promise<void>;
}

/** `ctx` of a handler, generator or router. */
export interface BlockContext<T extends ContextTypes = LooseTypes> extends ContextBase<T> {
  /** The nearest enclosing sequencer that declares a `stateSchema`. Use `!` where you know there is one. */
  readonly sequencer: TargetHandle<T["sequencer"]> | undefined;
}

/**
 * `ctx` of the callbacks in a chain. A sequencer that declares a `stateSchema` is always there, so its state needs no `!`.
 * Without a schema of its own it sees the nearest enclosing sequencer that has one.
 */
export interface SequencerContext<T extends ContextTypes = LooseTypes, S = never> extends ContextBase<T> {
  readonly sequencer: [S] extends [never] ? TargetHandle<T["sequencer"]> | undefined : TargetHandle<S>;
}
