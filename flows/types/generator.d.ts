/**
 * Generators: blocks that ask a model.
 */

import type { AnySurroundings, BlockConfig, ContextOf, Surroundings } from "./block-config.js";
import type { Block, Undeclared } from "./blocks.js";
import type { Use } from "./capabilities.js";
import type { AgentType, ItemQuery, ItemVisibility, ModelMessage } from "./items.js";
import type { ModelCaching, ModelChoice, ProviderOptions, ToolCall } from "./models.js";
import type { ResourceDefinitions, ScopedResourceDefinitions } from "./resources.js";
import type { LooseState, MaybePromise, Schema } from "./schema.js";
import type { ToolApprovalPolicy, ToolsConfig } from "./tools.js";
import type { PromptFile } from "./prompt-files.js";

/** A value, or a function that makes it from the generator's input. */
export type Dynamic<T, I, Ctx> = T | ((input: I, ctx: Ctx) => MaybePromise<T>);

/** Context for the system message. Keys of an object become tags, and functions are asked before every model call. */
export type ContextSlot<I, Ctx> =
  | string
  | null
  | undefined
  | ModelMessage
  | ((input: I, ctx: Ctx) => MaybePromise<unknown>)
  | ContextTags<I, Ctx>
  | readonly ContextSlot<I, Ctx>[];

/** Something a user says; a function may say nothing. */
export type UserPart<I, Ctx> = Dynamic<string | ModelMessage | readonly ModelMessage[] | null | undefined, I, Ctx>;

/** Texts by tag. Null keeps a tag's place without filling it. */
export interface ContextTags<I, Ctx> {
  [tag: string]:
    | string
    | null
    | undefined
    | readonly string[]
    | ((input: I, ctx: Ctx) => MaybePromise<unknown>)
    | ContextTags<I, Ctx>;
}

/** One model call of a generator, as `loop.stopWhen` sees it. */
export interface GeneratorStep {
  stepNumber: number;
  text?: string | null;
  toolCalls: Pick<ToolCall, "toolCallId" | "toolName" | "args">[];
}

export interface LoopConfig<Ctx> {
  maxIterations?: number;
  /** False ends the loop with the model's first answer, whichever tools it wanted. */
  runTools?: boolean;
  /** Asked after each model call. `steps` has all of them so far. */
  stopWhen?: (step: GeneratorStep & { steps: GeneratorStep[] }, ctx: Ctx) => MaybePromise<boolean>;
}

/** What happens to a reply that does not fit the `outputSchema`. */
export interface RepairConfig {
  /** `auto` mends it, `fail` and `rescue` fail at once; the latter says that a `rescue` is meant to catch it. */
  mode?: "auto" | "fail" | "rescue";
  maxAttempts?: number;
  /** Whether a model may be asked, at last, to put the reply into shape, and which one. */
  coerce?: boolean | { model?: Dynamic<ModelChoice, any, any> };
}

/** What a repair of your own is told of the run. The loop has ended: there is no iteration, and no tool result. */
export interface RepairState<I> {
  iteration: number;
  input: I;
  model: string;
  /** The instructions of the first call, without the context. */
  prompt: string;
  /** The messages of the first call. */
  messages: ModelMessage[];
  toolResults: never[];
  /** The answer as it came. */
  lastCandidate: any;
}

/** Searching the web, where the model's provider offers it. */
export interface SearchConfig {
  maxUses?: number;
  allowedDomains?: readonly string[];
  blockedDomains?: readonly string[];
  userLocation?: unknown;
  searchDepth?: unknown;
}

/** The part of a generator's configuration that only generators have. */
export interface ModelConfig<I, Ctx> {
  /** Required, unless a capability in `uses` brings one. */
  model?: Dynamic<ModelChoice, I, Ctx>;
  /** The instructions, or a Markdown file's. Parts of an array are joined by newlines, and null leaves a part out. */
  prompt?: PromptFile | Dynamic<string | null, I, Ctx> | readonly Dynamic<string | null, I, Ctx>[];
  /** What the model should know. It stands after the instructions. */
  context?: ContextSlot<I, Ctx>;
  /** `true` for the whole conversation, a query for part of it. Without it the model sees no earlier turns. */
  history?: boolean | ItemQuery | UserPart<I, Ctx> | readonly UserPart<I, Ctx>[];
  /** The user's message. It is left out when the history already ends with it. */
  user?: UserPart<I, Ctx> | readonly UserPart<I, Ctx>[];
  /** Blocks the model may call. Their descriptions and input schemas are what the model sees. */
  tools?: Dynamic<readonly Block[], I, Ctx>;
  /** Tools that a provider runs itself. */
  providerTools?: readonly unknown[];
  search?: boolean | SearchConfig;
  /** Who the generator speaks as. Without an identity it emits nothing, and its output only flows on in the chain. */
  agentType?: AgentType;
  /** The newer spelling of `agentType`. */
  itemVisibility?: ItemVisibility;
  /** Groups what several generators say. The block's name, unless you say otherwise. */
  agentName?: string;
  loop?: LoopConfig<Ctx>;
  /** How many model calls one run may take. 8 unless you say otherwise. */
  maxIterations?: number;
  /** The longest answer, in tokens. */
  maxTokens?: number;
  repair?: RepairConfig;
  /** Mends a reply in place of the built-in way. */
  repairOutput?: (candidate: any, error: Error, state: RepairState<I>, ctx: Ctx) => unknown;
  /** How tools are run, over what the flow says in `tools`. */
  flowTools?: ToolsConfig;
  /** Which calls of tools a person must allow. As each tool's `approval` says, unless you say otherwise. */
  toolApproval?: ToolApprovalPolicy<Ctx>;
  caching?: ModelCaching;
  /** An older way to say which items there are; all are, and `itemVisibility` says who sees them. */
  emit?: { messages?: boolean; reasoning?: boolean; tools?: boolean };
  /** Lists the tools in the system message, too. It does unless this is false. */
  describeTools?: boolean;
  providerOptions?: Dynamic<ProviderOptions, I, Ctx>;
  /** Looks at each piece of a streamed answer. */
  validateChunk?: (chunk: any, ctx: Ctx) => unknown;
}

export type GeneratorConfig<I, RawI, Raw, OIn, O, D extends AnySurroundings> = BlockConfig<
  I,
  RawI,
  Raw,
  OIn,
  O,
  D,
  ContextOf<D>
> &
  ModelConfig<I, ContextOf<D>>;

/**
 * A block that asks a model. With an `outputSchema` the reply is structured, otherwise it is text.
 *
 * ```ts
 * const chatbot = generator({
 *   name: "chatbot",
 *   agentType: "primary",
 *   model: "gpt-5-mini",
 *   prompt: "You are a friendly companion.",
 *   history: true,
 *   user: (input) => input.message,
 * });
 * ```
 */
export declare function generator<
  I = any,
  RawI = I,
  Raw = RawI,
  OIn = Undeclared,
  O = string,
  RS extends object = LooseState,
  SS extends object = LooseState,
  US extends object = LooseState,
  PS extends object = LooseState,
  QS extends object = LooseState,
  Self extends object = never,
  Parent extends object = never,
  ParentIn = any,
  T extends object = {},
  Res extends ResourceDefinitions = {},
  SR extends ScopedResourceDefinitions = {},
  UR extends ScopedResourceDefinitions = {},
  PR extends ScopedResourceDefinitions = {},
  C extends Use = Use,
>(
  config: GeneratorConfig<
    I,
    RawI,
    Raw,
    OIn,
    O,
    Surroundings<RS, SS, US, PS, QS, Self, Parent, ParentIn, T, Res, SR, UR, PR, C>
  >,
): Block<Raw, O>;

/** A generator written in the middle of a chain. Its input is the value of the chain at that point. */
export type InlineGeneratorConfig<V, O, Ctx> = ModelConfig<V, Ctx> & {
  name?: string;
  description?: string;
  outputSchema?: Schema<O, any>;
  activeStatusMessage?: string | ((input: V, ctx: Ctx) => string);
};
