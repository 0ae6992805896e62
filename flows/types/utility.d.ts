/**
 * `utility`: ready-made blocks. Those that ask a model are generators; a script answers them by their names.
 */

import type { Block } from "./blocks.js";
import type { BlockContext } from "./context.js";
import type { Evaluator } from "./evaluator.js";
import type { ModelChoice } from "./models.js";
import type { MaybePromise, Schema } from "./schema.js";
import type { Sequencer } from "./sequencer.js";
import type { z } from "zod";

/** What every utility that asks a model takes; other settings of a generator pass through. */
interface Asking<O> {
  name: string;
  model?: ModelChoice | ((input: any, ctx: BlockContext) => MaybePromise<ModelChoice>);
  /** Takes the place of the usual shape. */
  outputSchema?: Schema<O, any>;
  [setting: string]: unknown;
}

interface Focused<O> extends Asking<O> {
  objectives?: string | readonly string[];
}

export declare const summarizerOutputSchema: z.ZodObject<{
  summary: z.ZodString;
  keyPoints: z.ZodOptional<z.ZodArray<z.ZodString>>;
}>;
export type SummarizerGranularity = "brief" | "detailed" | "executive";
export declare function summarizer<O = z.infer<typeof summarizerOutputSchema>>(
  config: Focused<O> & { granularity?: SummarizerGranularity },
): Block<any, O>;

export declare const contextReducerDistillOutputSchema: z.ZodObject<{
  distilled: z.ZodString;
  keyPoints: z.ZodArray<z.ZodString>;
}>;
export declare const contextReducerDenoiseOutputSchema: z.ZodObject<{
  cleaned: z.ZodString;
  removedCategories: z.ZodOptional<z.ZodArray<z.ZodString>>;
}>;
export declare const contextReducerCompressOutputSchema: z.ZodObject<{
  compressed: z.ZodString;
  compressionRatio: z.ZodOptional<z.ZodNumber>;
  dropped: z.ZodOptional<z.ZodArray<z.ZodString>>;
}>;
interface Reductions {
  distill: z.infer<typeof contextReducerDistillOutputSchema>;
  denoise: z.infer<typeof contextReducerDenoiseOutputSchema>;
  compress: z.infer<typeof contextReducerCompressOutputSchema>;
}
export declare function contextReducer<M extends keyof Reductions = "distill", O = Reductions[M]>(
  config: Asking<O> & { mode?: M },
): Block<any, O>;

export declare const memoryExtractorTypeSchema: z.ZodEnum<["fact", "preference", "constraint", "decision"]>;
export declare const memoryCandidateSchema: z.ZodObject<{
  type: typeof memoryExtractorTypeSchema;
  content: z.ZodString;
  confidence: z.ZodOptional<z.ZodNumber>;
  source: z.ZodOptional<z.ZodString>;
}>;
export declare const memoryExtractorOutputSchema: z.ZodObject<{ memories: z.ZodArray<typeof memoryCandidateSchema> }>;
export declare function memoryExtractor<O = z.infer<typeof memoryExtractorOutputSchema>>(
  config: Asking<O>,
): Block<any, O>;

export declare const decomposerTaskSchema: z.ZodObject<{
  id: z.ZodString;
  title: z.ZodNullable<z.ZodString>;
  goal: z.ZodString;
  context: z.ZodNullable<z.ZodString>;
  deps: z.ZodOptional<z.ZodArray<z.ZodString>>;
  priority: z.ZodOptional<z.ZodEnum<["high", "medium", "low"]>>;
}>;
export declare const decomposerOutputSchema: z.ZodObject<{ tasks: z.ZodArray<typeof decomposerTaskSchema> }>;
export declare function decomposer<O = z.infer<typeof decomposerOutputSchema>>(config: Asking<O>): Block<any, O>;

export declare const composerOutputSchema: z.ZodObject<{
  composed: z.ZodString;
  structure: z.ZodOptional<z.ZodArray<z.ZodString>>;
}>;
export declare function composer<O = z.infer<typeof composerOutputSchema>>(config: Focused<O>): Block<any, O>;

export declare const synthesizerOutputSchema: z.ZodObject<{
  synthesis: z.ZodString;
  rationale: z.ZodArray<z.ZodString>;
}>;
export declare function synthesizer<O = z.infer<typeof synthesizerOutputSchema>>(config: Focused<O>): Block<any, O>;

export declare const analyzerFindingSchema: z.ZodObject<{
  criterion: z.ZodString;
  assessment: z.ZodString;
  severity: z.ZodOptional<z.ZodEnum<["critical", "warning", "info"]>>;
  evidence: z.ZodOptional<z.ZodString>;
}>;
export declare const analyzerOutputSchema: z.ZodObject<{
  findings: z.ZodArray<typeof analyzerFindingSchema>;
  score: z.ZodOptional<z.ZodNumber>;
  recommendation: z.ZodOptional<z.ZodString>;
}>;
export declare function analyzer<O = z.infer<typeof analyzerOutputSchema>>(
  config: Asking<O> & { criteria?: readonly string[] },
): Block<any, O>;

export declare const combinerOutputSchema: z.ZodObject<{
  combined: z.ZodUnknown;
  mergeNotes: z.ZodOptional<z.ZodArray<z.ZodString>>;
}>;
/** Merges artifacts by rules; asks no model. */
export declare function combiner<O = { combined: any; mergeNotes?: string[] }>(config: {
  name: string;
  outputSchema?: Schema<O, any>;
}): Block<readonly unknown[] | { artifacts: readonly unknown[] }, O>;

export interface IntentClassifierOutput {
  category: string;
  confidence: number;
  reasoning: string;
}
export declare function intentClassifier<O = IntentClassifierOutput>(
  config: Asking<O> & { categories: Record<string, string> },
): Block<any, O>;

/** Classifies its input and runs the handler of what it is, which gets the input. */
export declare function intentRouter(config: {
  name: string;
  description?: string;
  model?: ModelChoice;
  categories: Record<string, { description: string; handler: Block<any, any> }>;
  fallback?: Block<any, any>;
  /** Below it the fallback runs. */
  confidenceThreshold?: number;
}): Sequencer<any, any>;

/** Runs the block whose key `select` gives. */
export declare function keyedRouter<I = any, O = any>(config: {
  name: string;
  blocks: Record<string, Block<any, any>>;
  select: (input: I, ctx: BlockContext) => MaybePromise<string>;
  fallback?: Block<any, any>;
  inputSchema?: Schema<I, any>;
  outputSchema?: Schema<O, any>;
  [setting: string]: unknown;
}): Block<I, O>;

export interface CascadeLevel {
  ask: Evaluator;
  /** The choice question whose answer decides. */
  on: string;
  branches: Readonly<Record<string, CascadeBranch>>;
}
export type CascadeBranch =
  | { minConfidence?: number; block: Block<any, any>; next?: never }
  | { minConfidence?: number; next: CascadeLevel; block?: never };

/** Goes down a tree of evaluators, as long as the model is sure enough; everything else goes to `ambiguous`. */
export declare function cascadingRouter(config: {
  name: string;
  description?: string;
  ambiguous: Block<any, any>;
  root: CascadeLevel;
}): Sequencer<any, any>;

/** Gives the session a title from its newest messages. Meant for `.work()`. */
export declare function sessionTitleGenerator(config: {
  name: string;
  model?: ModelChoice;
  /** 4 where nothing is said. */
  messageLimit?: number;
}): Sequencer<any, any>;

/** Creates or updates an instance of a collection, and passes its input on. */
export declare function upsertResource<I>(config: {
  name: string;
  inputSchema: Schema<I, any>;
  /** The collection's name in `ctx.resources`, or in those of `scope`. */
  collectionKey: string;
  scope?: "session" | "user" | "project" | "org";
  key: (input: I) => string;
  state: (input: I, ctx: BlockContext) => MaybePromise<Record<string, unknown>>;
  content?: (input: I) => string | undefined;
  [setting: string]: unknown;
}): Block<I, I>;
