// `@flow-state-dev/core/types`: types, and the few values that stand among them.

export { defineResource } from '../define/resources';
export { resource } from './context-functions';
export { defineResourceCollection, defineResourceNamespace, isDefinedResourceCollection } from '../define/resources';
export { isDefinedResourceCollection as isDefinedResourceNamespace } from '../define/resources';
export {
  resolveCollectionKey,
  resolveCollectionKey as resolveNamespaceKey,
  normalizeResourcePath,
  matchesPattern,
  getPatternPrefix,
  extractPatternParams,
  extractBareTopic,
  validatePattern,
  isParameterizedPattern,
  isDeepWildcard,
  isSingleWildcard,
} from './collection-keys';
export { canSpeak, canSpeakStream, canTranscribe, canListVoices } from './voice';
export { createCompositeVoiceProvider, VoiceError } from './voice';
export { serializeActionSchema } from './action-schema';
export { DispatchRefusedError } from '../base/errors';
export { asRuntime } from './commands';
export { taskDispatchInputSchema } from './change-schemas';
