// `@flow-state-dev/core`: the names a flow imports.

export { handler, router, generator } from './define/blocks';
export { sequencer } from './define/sequencer';
export { defineCapability } from './define/capabilities';
export { defineFlow } from './define/flow';
export { defineScheduleBinding, defineWebhookBinding } from './define/entries';
export { dispatcher } from './context/dispatcher';
export { defineResource, defineResourceCollection, defineResourceNamespace } from './define/resources';
export { resolveItemVisibility } from './define/visibility';
export { transientSlot } from './base/schema';
export { createCompositeVoiceProvider, VoiceError } from './define/voice';
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
  DispatchRefusedError,
  ResourceAlreadyExistsError,
  ResourceDeletedError,
  SuspensionError,
  SuspensionRejectedError,
  SuspensionTimeoutError,
} from './base/errors';
