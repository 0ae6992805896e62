// `@flow-state-dev/core/models`.

export { createAiSdkModelResolver, wrapAiSdkModel } from './absent';
export { createAiSdkSpeechResolver, wrapAiSdkSpeechModel } from './absent';
export { createAiSdkTranscriptionResolver, wrapAiSdkTranscriptionModel } from './absent';
export { createModelResolver, createFSDProvider, defaultGroups, DEFAULT_PRESETS } from './model-resolver';
export { createFallbackModel, isRetryableError } from './fallback-model';
export { detectAvailableProviders, parseModelString, extractProviderName, INTENT_NAME_REGEX } from './model-names';
export { selectModel, isModelSelection } from './model-choice';
export { applyCaching, resolveEffectiveCaching, DEFAULT_CACHING_CONFIG } from './prompt-caching';
export { makeSchemaStrict, assertStrictCompatible } from './strict-schemas';
