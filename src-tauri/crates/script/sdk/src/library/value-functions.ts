// `@flow-state-dev/core/helpers`.

export { cloneValue, deepMerge, deepEqual, looseDeepEqual, stableStringify } from './plain-values';
export { mapLimit, withTimeout, withOutcome, updateStateWith } from './async-work';
export { toError } from './failures';
export {
  camelToKebab,
  normalizeTagName,
  sanitizeToolName,
  ensureUniqueAlias,
  computeToolAliases,
  assertUniqueToolNames,
} from '../base/names';
