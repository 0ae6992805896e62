// `@flow-state-dev/core`: the names a flow imports.

export { handler, router, generator } from './blocks';
export { sequencer } from './sequencer';
export { defineCapability } from './capabilities';
export { defineFlow } from './flow';
export { defineResource, defineResourceCollection, defineResourceNamespace } from './resources';
export { resolveItemVisibility } from './visibility';
export { transientSlot } from './schema';
export { SUSPENSION_SKIPPED } from './suspend';
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
} from './errors';
