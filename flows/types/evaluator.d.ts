/**
 * Evaluators: blocks that ask a model typed questions about one state, in one call, and give typed answers.
 */

import type { BlockConfig, ContextOf, AnySurroundings } from "./block-config.js";
import type { Block } from "./blocks.js";
import type { MaybePromise } from "./schema.js";

/** What a model reads. */
export type EvaluationInput = string | object | readonly unknown[];

export interface ChoiceQuestion<O extends string = string> {
  readonly type: "choice";
  readonly instructions: EvaluationInput;
  readonly criteria: Readonly<Record<O, EvaluationInput | null>>;
}

export interface ScoreQuestion {
  readonly type: "score";
  readonly instructions: EvaluationInput;
  readonly criteria: readonly (EvaluationInput | null)[];
}

export interface BooleanQuestion {
  readonly type: "boolean";
  readonly instructions: EvaluationInput;
  readonly criteria?: { readonly true?: EvaluationInput | null; readonly false?: EvaluationInput | null };
}

export type EvaluatorQuestion = ChoiceQuestion<any> | ScoreQuestion | BooleanQuestion;
export type EvaluatorQuestions = Record<string, EvaluatorQuestion>;

export interface ChoiceAnswer<O extends string = string> {
  type: "choice";
  choice: O;
  probabilities?: Record<O, number>;
  /** How sure the model says it is; absent where it says nothing. */
  confidence?: number;
}

export interface ScoreAnswer {
  type: "score";
  /** From 0, the first level, to the last one; it may lie between two. */
  score: number;
  probabilities?: Record<string, number>;
  confidence?: number;
}

export interface BooleanAnswer {
  type: "boolean";
  /** How likely a yes is. */
  probability: number;
  confidence?: number;
}

export type EvaluatorAnswer<Q extends EvaluatorQuestion = EvaluatorQuestion> =
  Q extends ChoiceQuestion<infer O> ? ChoiceAnswer<O> : Q extends ScoreQuestion ? ScoreAnswer : BooleanAnswer;

export type EvaluatorAnswers<Q extends EvaluatorQuestions = EvaluatorQuestions> = {
  [K in keyof Q]: EvaluatorAnswer<Q[K]>;
};

export interface EvaluatorOutput<Q extends EvaluatorQuestions = EvaluatorQuestions> {
  answers: EvaluatorAnswers<Q>;
}

/** A model that is a flow's own code. */
export interface EvaluationModel {
  readonly specificationVersion?: string;
  readonly provider: string;
  readonly modelId: string;
  readonly supportedQuestionTypes: readonly ("choice" | "score" | "boolean")[];
  doEvaluate(options: any): PromiseLike<unknown>;
}

type Ctx = ContextOf<AnySurroundings>;

export interface EvaluatorConfig<I, RawI, Q extends EvaluatorQuestions> extends Omit<
  BlockConfig<I, RawI, RawI, any, EvaluatorOutput<Q>, AnySurroundings, Ctx>,
  "outputSchema" | "retry" | "cacheable"
> {
  /** One model: its name in `flowglass.json`, or a model of the flow's own. No intent, no list. */
  model: string | EvaluationModel;
  questions: Q | ((input: I, ctx: Ctx) => MaybePromise<Q>);
  /** What the model judges; the input where nothing is said. */
  state?: (input: I, ctx: Ctx) => MaybePromise<EvaluationInput>;
}

export interface Evaluator<In = any, Q extends EvaluatorQuestions = EvaluatorQuestions> extends Block<
  In,
  EvaluatorOutput<Q>
> {
  readonly kind: "evaluator";
}

/** A block that asks a model questions whose possible answers are known. Nothing is tried again or answered elsewhere. */
export declare function evaluator<const Q extends EvaluatorQuestions, I = any, RawI = I>(
  config: EvaluatorConfig<I, RawI, Q>,
): Evaluator<RawI, Q>;

/** One of several options; the keys are what is answered. */
export declare function choice<const O extends Record<string, EvaluationInput | null>>(
  instructions: EvaluationInput,
  options: O,
): ChoiceQuestion<keyof O & string>;

/** A place on a scale of described levels. */
export declare function score(
  instructions: EvaluationInput,
  levels: readonly (EvaluationInput | null)[],
): ScoreQuestion;

/** Yes or no. */
export declare function boolean(instructions: EvaluationInput, criteria?: BooleanQuestion["criteria"]): BooleanQuestion;

/** Refuses what is no evaluator. */
export declare function assertEvaluatorBlock(
  block: unknown,
  names: { slot: string; helper: string; questions: string },
): asserts block is Evaluator;
