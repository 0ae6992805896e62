/**
 * The module `@flow-state-dev/core/items`: what can be asked of items.
 */

import type { Item } from "./item.js";

export * from "./item.js";
export { resolveItemVisibility } from "./items.js";
export type { AgentType, Content, ItemStatus, ItemVisibility } from "./items.js";

/** For `waitForCondition`. */
export type ItemCondition = (items: readonly Item[]) => boolean;

export declare function whenAnyItem(predicate: (item: Item) => boolean): ItemCondition;
export declare function whenResourceChanged(of: {
  scope?: string;
  path: string;
  changeType?: "created" | "updated" | "deleted";
}): ItemCondition;
/** `*` stands for one part of a path, `**` for any number of them. */
export declare function whenResourceMatching(of: {
  scope?: string;
  pattern: string;
  changeType?: "created" | "updated" | "deleted";
}): ItemCondition;
export declare function isSuspensionItem(item: { type: string }): boolean;
export declare function isSuspensionResumeItem(item: { type: string }): boolean;

/** A value in place, by the item that has it, or as a list or an object of such values. */
export type BlockValue<T = unknown> =
  { kind: "inline"; value: T } | { kind: "ref"; sourceItemId: string } | { kind: "structure"; shape: StructureShape };
export type StructureShape =
  { container: "array"; entries: BlockValue[] } | { container: "object"; entries: Record<string, BlockValue> };
export type ItemLookup = (id: string) => { id: string; type: string } | undefined;
export type BlockOutputLookup = ItemLookup;

export declare function inlineBlockValue<T>(value: T): BlockValue<T>;
export declare function refBlockValue(sourceItemId: string): BlockValue<never>;
export declare function structureBlockValue<T = unknown>(shape: StructureShape): BlockValue<T>;
export declare function isBlockValue(value: unknown): value is BlockValue;
export declare function buildItemLookup(items: readonly { id: string; type: string }[]): ItemLookup;
export declare const buildBlockOutputLookup: typeof buildItemLookup;
/** What a value stands for. A value of none of these forms stands for itself. */
export declare function resolveBlockValue<T = unknown>(value: unknown, lookup: ItemLookup): T | undefined;
export declare const resolveBlockValueInternal: typeof resolveBlockValue;

interface Logged {
  id: string;
  type: string;
  itemIndex: number;
}

/** The items that count, where blocks of a request ran more than once. */
export declare function collapseToCanonicalLog<T extends Logged>(items: readonly T[]): T[];
/** The items that each task of a board emitted. */
export declare function attributeItemsToTasks<T extends Logged>(
  items: readonly T[],
  collectionId: string,
): Map<string, T[]>;
export declare function itemsForTask<T extends Logged>(items: readonly T[], collectionId: string, taskId: string): T[];
export declare function collectAttributedItemIds(items: readonly Logged[], collectionId: string): Set<string>;
export declare const ITEM_UPDATE_INVARIANT_KEYS: readonly string[];
export declare function isEphemeralContent(part: object): boolean;
