/**
 * Generators: blocks that ask a model.
 */

import type { Block, BlockConfig, TypesOf, Undeclared } from "./blocks.js";
import type { BlockContext } from "./context.js";
import type { AgentType, ItemQuery, ItemVisibility, ModelMessage } from "./items.js";
import type { ResourceDefinitions } from "./resources.js";
import type { LooseState, MaybePromise, Schema } from "./schema.js";
import type { ToolsConfig } from "./flow.js";

/** A value, or a function that makes it from the generator's input. */
export type Dynamic<T, I, Ctx> = T | ((input: I, ctx: Ctx) => MaybePromise<T>);

/** A model by name, or several names to try in order. Names are looked up in `flowglass.json` and among the providers. */
export type ModelChoice = string | readonly string[] | { modelId: string; generate: (options: any) => Promise<any> };

/** Context for the system message. Keys of an object become tags, and functions are asked before every model call. */
export type ContextSlot<I, Ctx> =
  | string
  | null
  | undefined
  | ModelMessage
  | ((input: I, ctx: Ctx) => MaybePromise<unknown>)
  | ContextTags<I, Ctx>
  | readonly ContextSlot<I, Ctx>[];

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

/** The part of a generator's configuration that only generators have. */
export interface ModelConfig<I, Ctx> {
  /** Required, unless a capability in `uses` brings one. */
  model?: Dynamic<ModelChoice, I, Ctx>;
  /** The instructions. Parts of an array are joined by newlines, and null leaves a part out. */
  prompt: Dynamic<string | null, I, Ctx> | readonly Dynamic<string | null, I, Ctx>[];
  context?: ContextSlot<I, Ctx>;
  /** `true` for the whole conversation, a query for part of it. Without it the model sees no earlier turns. */
  history?: boolean | ItemQuery | readonly ModelMessage[] | ((input: I, ctx: Ctx) => MaybePromise<readonly ModelMessage[]>);
  /** The user's message. It is left out when the history already ends with it. */
  user?: Dynamic<string | readonly ModelMessage[], I, Ctx>;
  /** Blocks the model may call. Their descriptions and input schemas are what the model sees. */
  tools?: readonly Block[] | ((input: I, ctx: Ctx) => MaybePromise<readonly Block[]>);
  providerTools?: readonly unknown[];
  search?: boolean | {
    maxUses?: number;
    allowedDomains?: string[];
    blockedDomains?: string[];
    userLocation?: unknown;
    searchDepth?: unknown;
  };
  /** Who the generator speaks as. Without an identity it emits nothing, and its output only flows on in the chain. */
  agentType?: AgentType;
  itemVisibility?: ItemVisibility;
  agentName?: string;
  loop?: { maxIterations?: number; runTools?: boolean; stopWhen?: (step: any, ctx: Ctx) => MaybePromise<boolean> };
  /** How many model calls one run may take. 8 unless you say otherwise. */
  maxIterations?: number;
  maxTokens?: number;
  temperature?: number;
  repair?: { mode?: "auto" | "fail" | "rescue"; maxAttempts?: number; coerce?: boolean | { model?: string } };
  repairOutput?: (candidate: unknown, error: Error, state: any, ctx: Ctx) => unknown;
  flowTools?: ToolsConfig;
  caching?: { enabled?: boolean; breakpoints?: "auto" | unknown; ttl?: string };
  describeTools?: boolean;
  providerOptions?: Dynamic<Record<string, unknown>, I, Ctx>;
}

export type GeneratorConfig<I, RawI, Raw, OIn, O, RS, SS, US, PS, QS, Self, T, Res> =
  & BlockConfig<
    I, RawI, Raw, OIn, O, RS, SS, US, PS, QS, Self, T, Res,
    BlockContext<TypesOf<RS, SS, US, PS, QS, Self, T, Res>>
  >
  & ModelConfig<I, BlockContext<TypesOf<RS, SS, US, PS, QS, Self, T, Res>>>;

/** A block that asks a model. With an `outputSchema` the reply is structured, otherwise it is text. */
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
  Self extends object = LooseState,
  T extends object = {},
  Res extends ResourceDefinitions = {},
>(config: GeneratorConfig<I, RawI, Raw, OIn, O, RS, SS, US, PS, QS, Self, T, Res>): Block<Raw, O>;

/** A generator written in the middle of a chain. Its input is the value of the chain at that point. */
export type InlineGeneratorConfig<V, O, Ctx> = ModelConfig<V, Ctx> & {
  name?: string;
  description?: string;
  outputSchema?: Schema<O, any>;
  activeStatusMessage?: string | ((input: V, ctx: Ctx) => string);
};
