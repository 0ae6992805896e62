/**
 * Collections whose texts are classified when they are written, and can be searched by the classification.
 */

import type { Block } from "./blocks.js";
import type { Evaluator, EvaluatorAnswers, EvaluatorQuestions } from "./evaluator.js";
import type { CollectionReactions } from "./reactions.js";
import type {
  DefinedResourceCollection,
  ResourceCollectionConfig,
  ResourceDefinitions,
  ResourceScope,
} from "./resources.js";
import type { Schema } from "./schema.js";

export interface FacetedCollectionConfig<N extends string, S, Q extends EvaluatorQuestions> extends Omit<
  ResourceCollectionConfig<S, ResourceScope>,
  "stateSchema" | "reactTo"
> {
  /** The name the collection is registered under. */
  name: N;
  /** Classifies each text, which is its input. Its questions must not depend on the text. */
  evaluator: Evaluator<any, Q>;
  /** The fields of the flow. `facets` and `indexedAs` are added. */
  stateSchema: Schema<S, any>;
  /** Without `contentUpdated`, which the collection itself uses. */
  reactTo?: Omit<CollectionReactions<S>, "contentUpdated">;
}

/** The fields of an entry, and the answers about its text: null if they are not known yet or could not be given. */
export type FacetedState<S, Q extends EvaluatorQuestions> = S & {
  facets: EvaluatorAnswers<Q> | null;
  indexedAs: string | null;
};

export interface FacetedCollection<N extends string, S, Q extends EvaluatorQuestions> {
  collection: DefinedResourceCollection<FacetedState<S, Q>>;
  /** Finds keys by answers to the choice questions, without calling a model. */
  search: Block<Record<string, unknown> & { minConfidence?: number }, { keys: string[] }>;
  /** Classifies entries without answers, or all entries with `force`. */
  reindex: Block<{ force?: boolean }, { reindexed: string[] }>;
  /** For `defineFlow({ resources })`. */
  resources: { [K in N]: DefinedResourceCollection<FacetedState<S, Q>> } & ResourceDefinitions;
}

export declare function defineFacetedCollection<
  const N extends string,
  S extends object,
  const Q extends EvaluatorQuestions,
>(config: FacetedCollectionConfig<N, S, Q>): FacetedCollection<N, S, Q>;
