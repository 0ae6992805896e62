// `@flow-state-dev/core`: the names a flow imports.

export { handler, router, generator } from './define/blocks';
export { sequencer } from './define/sequencer';
export { defineCapability, getBaseCapability } from './define/capability';
export { defineFlow } from './define/flow';
export { defineResource, defineResourceCollection, defineResourceNamespace } from './define/resources';
export { normalizeReactiveBinding, resourceChangeSchema, resourceContentChangeSchema } from './define/reactions';
export { evaluator, choice, score, boolean, assertEvaluatorBlock } from './define/evaluator';
export { defineFacetedCollection } from './define/faceted';
export * as utility from './utility';
export { resolveItemVisibility } from './define/visibility';
export { transientSlot } from './base/schema';
export { SUSPENSION_SKIPPED } from './define/suspend';
export {
  FlowError,
  ValidationError,
  OutputValidationError,
  SequencerOutputSchemaError,
  SequencerSchemaMismatchError,
  SchemaConflictError,
  FlowIdentityConflictError,
  StrictSchemaError,
  AmbiguousBlockNameError,
  ConcurrentModificationError,
  ScopeMutationTimeoutError,
  RouteUnavailableError,
  ReplayDriftError,
  NetworkError,
  TimeoutError,
  RateLimitError,
  ModelError,
  ProviderUnavailableError,
  ContextLengthError,
  ToolExecutionError,
  ResourceAlreadyExistsError,
  ResourceDeletedError,
  SuspensionError,
  SuspensionRejectedError,
  SuspensionTimeoutError,
} from './base/errors';
export { whenAnyItem, whenResourceChanged, whenResourceMatching } from './library/item-conditions';
