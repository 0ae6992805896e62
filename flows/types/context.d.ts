/**
 * `ctx`, the second argument of everything an author writes.
 */

import type { Block } from "./blocks.js";
import type { Item } from "./item.js";
import type {
  ComponentOptions,
  Content,
  EmitNamespace,
  Emitted,
  EmittedComponent,
  EmittedMessage,
  MessageOptions,
  StatusOptions,
} from "./items.js";
import type { ModelResolver } from "./models.js";
import type { InScope, ResourceMap } from "./resource-handles.js";
import type { LooseState } from "./schema.js";
import type { ProjectScopeHandle, RequestScopeHandle, SessionScopeHandle, UserScopeHandle } from "./scopes.js";
import type { StateHandle, TargetHandle } from "./state.js";
import type { SuspendAction, SuspendAnswer, SuspendOptions } from "./suspension.js";
import type { RequestHost } from "./relay.js";

/** What a block has declared of its surroundings. Whatever it has not is loose; `never` stands for "not declared". */
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
  cap: unknown;
}

export interface LooseTypes {
  request: LooseState;
  session: LooseState;
  user: LooseState;
  project: LooseState;
  sequencer: LooseState;
  self: never;
  parent: never;
  parentInput: any;
  targets: {};
  resources: {};
  cap: {};
}

/** A state that is certainly there when its schema is declared, and otherwise perhaps. */
type Certain<S> = [S] extends [never] ? TargetHandle | undefined : TargetHandle<S>;

/**
 * The block that dispatched this one. Its state is there if it declares a `stateSchema`; with a `parentStateSchema` of
 * your own you say that it does.
 */
export type ParentHandle<S = never, I = any> = ([S] extends [never] ? Partial<StateHandle> : StateHandle<S>) & {
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
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** What handlers and the callbacks of a sequencer have in common. */
export interface ContextBase<T extends ContextTypes = LooseTypes> {
  /** One execution of one action: scratch that is gone when it ends. */
  readonly request: RequestScopeHandle<T["request"]>;
  /** One conversation: what its next request should still know. */
  readonly session: SessionScopeHandle<T["session"], InScope<T["resources"], "session">>;
  /** One person, in all their conversations. */
  readonly user: UserScopeHandle<T["user"], InScope<T["resources"], "user">>;
  /** Undefined when the run was started without a project, so read it with `?.` and have a fallback. */
  readonly project: ProjectScopeHandle<T["project"], InScope<T["resources"], "project" | "org">> | undefined;
  /**
   * The same scope as `project`, under its newer name. A flow that looks into it under this name, in a helper too, or
   * takes it out of the context, and says `project` nowhere, always has one: `DEFAULT_ORG_ID` where the run names none.
   * A flow that says `project` too, or asks by `?.` each time, has it only where the run names one.
   */
  readonly org: ProjectScopeHandle<T["project"], InScope<T["resources"], "project" | "org">>;

  /** This block's own state, if it declares a `stateSchema`. Each execution starts afresh. */
  readonly self: Certain<T["self"]>;
  /** Undefined in the root block. */
  readonly parent: ParentHandle<T["parent"], T["parentInput"]> | undefined;
  /** `getTarget` by property. The names in `targetStateSchemas` are typed. */
  readonly targets: { readonly [K in keyof T["targets"]]: TargetHandle<T["targets"][K]> | undefined } & {
    readonly [name: string]: TargetHandle<any> | undefined;
  };
  /** Finds a block that ran before this one, or one that encloses it. Fails if two enclosing blocks share the name. */
  getTarget<S = LooseState>(name: string): TargetHandle<S> | undefined;
  /** What a block that ran before this one, beside it, has produced. The newest run counts. */
  getBlockOutput<O>(block: Block<any, O>): O | undefined;
  getBlockResult<O>(block: Block<any, O>): BlockResult<O>;
  wasRescued(block: string | Block<any, any>): boolean;

  /** The resources of all scopes, by the name they are declared under. */
  readonly resources: ResourceMap<T["resources"]>;
  /** What each capability in `uses` offers, by its name. Those of the blocks around are here, too. */
  readonly cap: T["cap"] & Readonly<Record<string, any>>;
  readonly settings: Readonly<Record<string, any>>;
  /** The flow that runs, with the settings of its instance. */
  readonly flow: { readonly kind: string; readonly id: string; readonly config: Readonly<Record<string, any>> };

  /** Leaves something for somebody to see. */
  readonly emit: EmitNamespace;
  emitMessage(content: string | Content[], options?: MessageOptions): EmittedMessage;
  emitComponent(name: string, data: unknown, options?: ComponentOptions): EmittedComponent;
  /** A progress line. Without a text it only sends the signals in `options`. */
  emitStatus(message?: string, options?: StatusOptions): Emitted;
  /** What the request has shown so far. */
  readonly response: { getItems(): readonly Item[]; getItemCount(): number };

  /** Aborts when the request is cancelled. Pass it to `fetch`, and check it in long loops. */
  readonly signal: AbortSignal;
  /** Counts from 0 and grows with each retry of this block. */
  readonly attempt: number;
  /** `requestId:path`, the same for every attempt and after a resume. Give it to services that accept such a key. */
  readonly idempotencyKey: string;
  readonly requestRuntime: RequestRuntime;
  /** Sends messages to other sessions, in a flow that has a `relay`. */
  readonly requestHost?: RequestHost;
  /** Asks a model without a generator. The call is recorded with this block. */
  readonly resolveModel: ModelResolver;
  /**
   * Keeps what `fn` gives under a key: whoever asks again in this request, a resume included, gets the recorded result,
   * which therefore must be JSON. `fn` runs at least once. A process that dies between the effect and its record leaves
   * an effect that may have happened; the resume says so and calls `fn` again. Where that would do harm, give the
   * service behind it `idempotencyKey`. What `fn` throws is no result.
   */
  runOnce<R>(key: string, fn: () => R | Promise<R>): Promise<R>;
  /**
   * Stops here until somebody answers. The block runs again from its top, and the call gives the answer's data. A no
   * throws `SuspensionRejectedError`, no answer in time `SuspensionTimeoutError`. Hooks of requests cannot wait.
   */
  suspend<R = any, A extends SuspendAction = never>(options: SuspendOptions<R, A>): Promise<SuspendAnswer<R, A>>;
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
