// `@flow-state-dev/core`: the names a flow imports.

export { handler, router, generator } from './define/blocks';
export { sequencer } from './define/sequencer';
export { defineCapability, getBaseCapability } from './define/capability';
export { defineFlow } from './define/flow';
export { createFlowState, inMemoryStores } from './define/host-settings';
export { createBearerSecretPrincipalResolver, defaultBodyUserIdPrincipalResolver } from './define/host-settings';
export { PrincipalResolutionError, createHmacVerifier, createHs256JwtVerifier } from './define/host-settings';
export { extractBearerToken } from './define/host-settings';
export { defineScheduleBinding, defineWebhookBinding } from './define/entries';
export { dispatcher } from './context/dispatcher';
export { defineResource, defineResourceCollection, defineResourceNamespace } from './define/resources';
export {
  defineExternalResourceCollection,
  defineProjectedResourceCollection,
  isProjectedResourceCollection,
} from './define/resources';
export { normalizeReactiveBinding } from './define/reactions';
export { resourceChangeSchema, resourceContentChangeSchema } from './library/change-schemas';
export { evaluator, choice, score, boolean, assertEvaluatorBlock } from './define/evaluator';
export { defineFacetedCollection } from './library/faceted';
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
  DispatchRefusedError,
  NoDispatchSeamError,
  NoRequestHostError,
  ResourceAlreadyExistsError,
  ResourceDeletedError,
  SuspensionError,
  SuspensionRejectedError,
  SuspensionTimeoutError,
} from './base/errors';
export { isDefinedResourceCollection } from './define/resources';
export { isDefinedResourceCollection as isDefinedResourceNamespace } from './define/resources';
export { contextFn, providerTool, resource } from './library/context-functions';
export { mapLimit } from './library/async-work';
export { warnOnceDev, composeSideChainSignal } from './library/commands';
export { rootCause, isAbortLike, serializeError, errorDetailsWithCause } from './library/failures';
export { lifecycleSchema, isTraceObservabilityEnabled, resolveTracingLevel } from './library/lifecycle';
export { whenAnyItem, whenResourceChanged, whenResourceMatching } from './library/item-conditions';
export { resourceTools, readResourceContentTool, writeResourceContentTool } from './library/resource-tools';
export { resolveResourceByPath, resolveResourceByPath as resolveResourceByUri } from './library/resource-tools';
export { resourceSearchTools } from './library/resource-search';
export {
  createToolCacheCapability,
  createInMemoryToolCacheStore,
  bindToolCacheStore,
  canonicalizeToolArgs,
} from './library/tool-cache';
export {
  DEFAULT_MODEL_LOOKUP,
  findModelEntry,
  modelPricingEstimator,
  createEstimateTokenCounter,
  estimateTokenCounter,
  createTiktokenCounter,
} from './library/token-costs';
export * from './library/models';
export { canSpeak, canSpeakStream, canTranscribe, canListVoices } from './library/voice';
export { createCompositeVoiceProvider, voiceContext, VoiceError } from './library/voice';
export { getRequestWorkPool, runRescue, resolveActiveStatusMessage } from './library/absent';
export { validateChatConfig, validateScheduleConfig, validateSchedulesConfig } from './library/absent';
export { validateConcurrencyConfig, validateWebhookConfig } from './library/absent';
export { applyGetOrPatchState, buildReplayLog, createBindingCache } from './library/absent';
export { defineRelayBinding, relaySendTool, requireRequestHost, validateRelayConfig } from './library/relay';
export { recordedAskOutcome } from './library/absent';
export { dispatchHandleSchema, DISPATCH_TYPES, resolveEntry, SLASH_COMMAND_PATTERN } from './library/dispatches';
export {
  DISPATCH_SEAM,
  dispatchThroughSeam,
  markDispatcher,
  TASK_ENTRY,
  markTaskEntry,
  isTaskEntry,
} from './library/dispatches';
export { parkOnAsk, AskEndedError, AskStoppedError } from './library/asks';
export { discoveryTools, createManifestRegistry, resourcesManifestSource } from './library/manifest';
export { MANIFEST_DOMAINS, isManifestDomain } from './library/manifest';
export { DEFAULT_ORG_ID, isValidOrgId } from './library/organisation';
export { harnessRunInputSchema, harnessRunEnvelopeSchema, harnessRunHandleSchema } from './library/harness';
export { collapseToCanonicalLog } from './library/item-logs';
export {
  ROOT_BLOCK_PATH,
  buildBlockInstanceId,
  extendBlockPath,
  blockPathSegment,
  blockPathIteration,
  blockPathLoop,
  blockPathBranch,
  blockPathRescue,
  blockPathTool,
  parseBlockInstanceId,
} from './library/block-paths';
