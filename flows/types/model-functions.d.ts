/**
 * The module `@flow-state-dev/core/models`: models by rules and by groups, and what an author's own model may need.
 */

import type { ModelMessage } from "./items.js";
import type { GeneratorModel, ModelChoice, ModelOptions, ModelReply } from "./models.js";
import type { MaybePromise, Schema } from "./schema.js";

type Call<R> = (input: any, ctx: any) => MaybePromise<R>;

export interface PreferProviderRule {
  preferProvider: Call<string | readonly string[] | null | undefined>;
}
/** An older form: a model, where there is a better one. */
export interface PreferRule {
  prefer: Call<string | null | undefined>;
}
export interface WhenRule {
  when: Call<unknown>;
  use: string | string[];
}
export type ModelRule = PreferProviderRule | PreferRule | WhenRule;

/** For `model` of a generator: preferred models, the first rule that holds, the default. */
export declare function selectModel(
  defaultModel: string | string[],
  rules?: ModelRule | readonly ModelRule[],
): (input: any, ctx: any) => Promise<string | string[]>;
export declare function isModelSelection(value: unknown): boolean;

export interface ParsedModelString {
  type: "direct" | "gateway" | "intent" | "preset";
  provider?: string;
  modelId?: string;
  gateway?: string;
  intentName?: string;
  presetName?: string;
}
export declare const INTENT_NAME_REGEX: RegExp;
export declare function parseModelString(name: string): ParsedModelString;
export declare function extractProviderName(name: string): string;

export interface ProviderAvailability {
  provider: string;
  source: "key" | "gateway";
  apiKey?: string;
  gatewayType?: string;
  gatewayName?: string;
}
/** Providers that the given keys reach. The engine has keys of its own, which no flow sees. */
export declare function detectAvailableProviders(given?: {
  keys?: Record<string, string | undefined>;
  gateways?: Record<string, unknown>;
  env?: Record<string, string | undefined>;
}): Map<string, ProviderAvailability>;

/** A model by name, or several to try in order. A generator takes it as `model`, a handler asks it. */
export type NamedModel = GeneratorModel & {
  readonly modelId: string;
  readonly names: readonly string[];
  generate(options: Partial<ModelOptions> & { messages: ModelMessage[] }): Promise<ModelReply>;
};
type ModelPreference = { preferProvider?: string | string[] };

/** Other options change nothing here, and are told when the file loads. */
export interface CreateModelResolverOptions {
  defaultModel?: string;
  /** The models of each `intent/<name>`, in the order in which they are tried. */
  intents?: Record<string, string[]>;
  presets?: Record<string, { models: string[] }>;
  env?: Record<string, string | undefined>;
  [other: string]: unknown;
}
export declare function createModelResolver(options?: CreateModelResolverOptions): {
  (modelId: string, blockName?: string, preference?: ModelPreference): NamedModel;
  resolveId(modelId: string): string;
  explain(modelId: string): {
    requested: string;
    candidates: { model: string; provider: string; available: boolean }[];
  };
};

export interface ModelGroupConfig {
  models: string[];
  defaults?: any;
}
export declare const defaultGroups: Record<string, ModelGroupConfig>;
export declare const DEFAULT_PRESETS: Record<string, ModelGroupConfig>;
export declare function createFSDProvider(config: {
  groups: Record<string, ModelGroupConfig>;
  [other: string]: unknown;
}): {
  (group: string, preference?: ModelPreference): NamedModel;
  languageModel(group: string, preference?: ModelPreference): NamedModel;
  groups(): string[];
  available(group: string): string[];
};

export interface FallbackModelEntry {
  model: GeneratorModel;
  modelId: string;
  providerName?: string;
}
/** Several models of an author's own as one. */
export declare function createFallbackModel(config: {
  groupName: string;
  models: readonly FallbackModelEntry[];
  defaults?: { maxTokens?: number; providerOptions?: Record<string, any> };
  retryPolicy?: { maxAttemptsPerModel?: number; baseDelayMs?: number; maxDelayMs?: number };
}): GeneratorModel & ModelChoice;
export declare function isRetryableError(error: unknown): boolean;

export interface CachingConfig {
  enabled?: boolean;
  breakpoints?: "auto" | "manual";
  ttl?: "5m" | "1h";
}
export declare const DEFAULT_CACHING_CONFIG: Readonly<Required<CachingConfig>>;
export declare function resolveEffectiveCaching(config: CachingConfig | undefined): Required<CachingConfig>;
/** Marks in place what a provider should keep of a request. */
export declare function applyCaching(
  request: Record<string, any>,
  config: CachingConfig | undefined,
  languageModel: { provider?: string } | undefined,
): void;

export interface StrictViolation {
  path: string;
  typeName: string;
  reason: string;
}
/** A schema in which every field is required. */
export declare function makeSchemaStrict<S extends Schema>(
  schema: S,
  options?: { validate?: boolean; label?: string },
): S;
/** Throws `StrictSchemaError` for what no strict schema can say. */
export declare function assertStrictCompatible(schema: Schema, label?: string): void;

/** Fails when it is called: the engine asks models itself. */
export declare function createAiSdkModelResolver(...given: any[]): never;
/** Fails when it is called: the engine asks models itself. */
export declare function wrapAiSdkModel(...given: any[]): never;
/** Fails when it is called: the engine neither speaks nor listens. */
export declare function createAiSdkSpeechResolver(...given: any[]): never;
/** Fails when it is called: the engine neither speaks nor listens. */
export declare function wrapAiSdkSpeechModel(...given: any[]): never;
/** Fails when it is called: the engine neither speaks nor listens. */
export declare function createAiSdkTranscriptionResolver(...given: any[]): never;
/** Fails when it is called: the engine neither speaks nor listens. */
export declare function wrapAiSdkTranscriptionModel(...given: any[]): never;
