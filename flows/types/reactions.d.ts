/**
 * Reactions: blocks that run because a resource was written, after the block that wrote it has ended.
 */

import type { Block } from "./blocks.js";
import type { Schema } from "./schema.js";

/** A change of a resource's fields, of an entry's existence or of both. */
export interface ResourceChange<S = any> {
  /** The entry's key, or the `ref` of a single resource. */
  key: string;
  /** Where it lies: `memos/launch`. */
  ref: string;
  kind: "created" | "stateUpdated" | "updated" | "deleted";
  /** After it; null where it was deleted. */
  state: S | null;
  /** Before it; null where it was created. */
  prevState: S | null;
  /** Whether a full collection deleted it for another one. */
  evicted: boolean;
}

/** A change of a resource's text, which is read from the resource. */
export interface ResourceContentChange {
  key: string;
  ref: string;
  kind: "contentUpdated";
}

/** A block, or a block and what decides whether it runs. */
export type ReactiveBinding<C> = Block<any, any> | { block: Block<any, any>; when?: (change: C) => boolean };

/** A single resource is always there, so it is neither created nor deleted. */
export interface ResourceReactions<S = any> {
  stateUpdated?: ReactiveBinding<ResourceChange<S>>;
  /** An older spelling of `stateUpdated`. */
  updated?: ReactiveBinding<ResourceChange<S>>;
  contentUpdated?: ReactiveBinding<ResourceContentChange>;
}

export interface CollectionReactions<S = any> extends ResourceReactions<S> {
  created?: ReactiveBinding<ResourceChange<S>>;
  /** Also where a full collection evicts it. */
  deleted?: ReactiveBinding<ResourceChange<S>>;
}

export type ReactiveBindings<S = any> = CollectionReactions<S>;

/** The input schema of a reaction to a changed state. */
export declare function resourceChangeSchema<S>(stateSchema: Schema<S, any>): Schema<ResourceChange<S>>;

/** The input schema of a reaction to a changed text. */
export declare function resourceContentChangeSchema(): Schema<ResourceContentChange>;

export declare function normalizeReactiveBinding<C>(binding: ReactiveBinding<C>): {
  block: Block<any, any>;
  when?: (change: C) => boolean;
};
