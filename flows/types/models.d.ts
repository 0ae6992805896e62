/**
 * Models: by name, by a list of names to try, or as code of your own.
 */

import type { ModelIdentity } from "./item.js";
import type { ModelMessage } from "./items.js";

/** A name is looked up in `flowglass.json` and then among the providers, as in `gpt-5-mini` or `anthropic/claude-…`. */
export type ModelName = string;

/** A model name and the provider that should serve it, if it can. */
export interface PreferredModel {
  model: ModelName;
  preferProvider?: string;
}

/** One model, or several to try in order until one answers. */
export type ModelChoice = ModelName | PreferredModel | readonly (ModelName | PreferredModel)[] | GeneratorModel;

export interface ToolCall {
  toolCallId: string;
  /** The tool's name as the model sees it. */
  toolName: string;
  args: any;
  /** The provider ran the tool itself; the engine does not run it and does not call the model again for it. */
  providerExecuted?: boolean;
  /** Its result, if the provider ran it. */
  result?: any;
}

/** A tool as a model sees it. `parameters` is JSON Schema. */
export interface ModelTool {
  name: string;
  description?: string;
  parameters: Record<string, any>;
}

export interface ModelUsage {
  promptTokens: number;
  completionTokens: number;
  totalTokens?: number;
  cacheReadInputTokens?: number;
  cacheCreationInputTokens?: number;
}

/** The request to a model. */
export interface ModelOptions {
  messages: ModelMessage[];
  tools?: ModelTool[];
  /** JSON Schema, when the answer should be structured. */
  outputSchema?: Record<string, any>;
  maxTokens?: number;
  providerOptions?: ProviderOptions;
  /** Which call of the generator's loop this is, from 0. */
  stepNumber: number;
  /** That of the generator, for what the model itself waits for. */
  signal: AbortSignal;
}

/** The reply of a model: a text, a structured answer, or tools to run before the next call. */
export interface ModelReply {
  text?: string;
  reasoning?: string;
  structuredOutput?: unknown;
  toolCalls?: readonly (Pick<ToolCall, "toolName"> & Partial<ToolCall>)[];
  finishReason?: string;
  usage?: Partial<ModelUsage>;
  sources?: readonly { url: string; title?: string }[];
  providerMetadata?: unknown;
  /** The model that answered, where it is not the one that was asked. */
  resolvedIdentity?: ModelIdentity;
  /** The turn in the provider's own form. The next step is asked with it in place of the text and the calls. */
  responseMessages?: readonly unknown[];
}

/**
 * A piece of a streamed answer. Its value is in the piece itself or in a field named after its type. The pieces together
 * are the answer; fields of `finish` and its `fullResult` override them.
 */
export type ModelChunk = {
  /** The model that answers, where it is not the one that was asked. */
  resolvedIdentity?: ModelIdentity;
} & (
  | { type: "text_delta" | "reasoning_delta"; delta: string }
  | { type: "text_delta"; textDelta: string }
  | { type: "reasoning_delta"; reasoningDelta: string }
  | { type: "tool_call_delta"; toolCallId?: string; toolName: string; args?: unknown; providerExecuted?: boolean }
  /** A piece of the JSON of a call's arguments. */
  | { type: "tool_call_delta"; toolCallDelta: { toolCallId: string; toolName: string; argsDelta?: string } }
  /** The result of a call that the provider ran itself. */
  | { type: "tool_result"; toolCallId: string; toolName?: string; result?: unknown; [more: string]: unknown }
  | { type: "tool_result"; toolResult: { toolCallId: string; toolName: string; result: unknown } }
  | { type: "tool_input_start"; toolCallId?: string; toolName?: string; [more: string]: unknown }
  | { type: "source_url"; url: string; title?: string }
  | { type: "source_url"; source: { url: string; title?: string } }
  | { type: "finish"; fullResult?: ModelReply; finishReason?: string; usage?: Partial<ModelUsage> }
);

type Answers<Name extends string> = { [name in Name]: (options: ModelOptions) => Promise<ModelReply> };
type Streams<Name extends string> = { [name in Name]: (options: ModelOptions) => AsyncIterable<ModelChunk> };

/**
 * A model of your own. With `generateStep` or `streamStep` the engine runs the loop and the tools around it. With only
 * `generate` or `stream`, tool calls in its answer are reported but not run. Text is streamed for a generator that has
 * an identity or tools, because a client may be watching.
 */
export type GeneratorModel = { modelId: string } & Partial<
  Answers<"generate" | "generateStep"> & Streams<"stream" | "streamStep">
> &
  (Answers<"generateStep"> | Answers<"generate"> | Streams<"streamStep"> | Streams<"stream">);

/** `ctx.resolveModel`. */
export interface ModelResolver {
  (
    modelId: ModelName,
    blockName?: string,
    options?: { preferProvider?: string },
  ): { modelId: string; generate(options: Partial<ModelOptions> & { messages: ModelMessage[] }): Promise<ModelReply> };
  /** Returns the name of the model that would be called. */
  resolveId(modelId: ModelName): string;
}

/** Passed on to the provider. The named options mean the same for all providers, and may also be grouped by provider. */
export interface ProviderOptions {
  temperature?: number;
  topP?: number;
  seed?: number;
  stop?: string | readonly string[];
  reasoningEffort?: string;
  verbosity?: string;
  toolChoice?: "auto" | "none" | "required" | { toolName: string };
  [option: string]: unknown;
}

/** Whether a provider may keep parts of a prompt, so that the next call is cheaper. */
export interface ModelCaching {
  enabled?: boolean;
  breakpoints?: "auto" | readonly unknown[];
  /** Such as `5m`. */
  ttl?: string;
}
