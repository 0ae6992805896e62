// `@flow-state-dev/core/items`.

export { resolveItemVisibility } from '../define/visibility';
export {
  whenAnyItem,
  whenResourceChanged,
  whenResourceMatching,
  isSuspensionItem,
  isSuspensionResumeItem,
} from './item-conditions';
export {
  inlineBlockValue,
  refBlockValue,
  structureBlockValue,
  isBlockValue,
  buildItemLookup,
  buildItemLookup as buildBlockOutputLookup,
  resolveBlockValue,
  resolveBlockValue as resolveBlockValueInternal,
} from './item-values';
export {
  collapseToCanonicalLog,
  attributeItemsToTasks,
  itemsForTask,
  collectAttributedItemIds,
  ITEM_UPDATE_INVARIANT_KEYS,
  isEphemeralContent,
} from './item-logs';
