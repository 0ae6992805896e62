// `@flow-state-dev/core/prompt`.

export { section, list, keyValues, entries, table, codeBlock, join, when } from './prompt-texts';
export { xmlTag, renderTaggedContext, RESERVED_TAG_NAMES, validateTagName } from '../base/prompt-tags';
