/**
 * The operations every state container offers, whichever scope it belongs to.
 *
 * Each returns true when it changed something and false when the new value equals the old one. All merges are shallow:
 * a nested object is replaced, so spread the old one into it when only a part changes.
 */

import type { LooseState } from "./schema.js";

/** The keys of `S` whose values are of type `T`. A loosely typed value counts as any type. */
type KeysOfType<S, T> = { [K in keyof S]-?: NonNullable<S[K]> extends T ? K : never }[keyof S];

/** The keys of `S` whose values are objects but not arrays: records, and objects with known fields. */
type RecordKeys<S> = {
  [K in keyof S]-?: IsAny<S[K]> extends true
    ? K
    : NonNullable<S[K]> extends readonly any[]
      ? never
      : NonNullable<S[K]> extends object
        ? K
        : never;
}[keyof S];

type IsAny<T> = 0 extends 1 & T ? true : false;
type ElementOfField<V> = NonNullable<V> extends readonly (infer E)[] ? E : never;
type EntryKey<V> = keyof NonNullable<V> & string;

export interface StateHandle<S = LooseState> {
  /** A live, read-only view. Writes made earlier in the same block are already in it. */
  readonly state: Readonly<S>;

  /**
   * Merges some fields. A write that breaks the scope's schema fails with `ValidationError` and changes nothing; any
   * other is stored as it was written. A field that is `undefined` is left as it is.
   */
  patchState(partial: Partial<S>): Promise<boolean>;

  /** Computes one field from its present value. The function may run again if another request wrote first. */
  patchState<K extends keyof S>(key: K, updater: (current: S[K]) => S[K]): Promise<boolean>;

  /** Replaces the whole state. Nothing is merged and no default is filled in. */
  setState(next: S): Promise<boolean>;

  /** An older spelling of `patchState({ [field]: value })`. */
  setState<K extends keyof S>(field: K, value: S[K]): Promise<boolean>;

  /** A field's value, or what `compute` gives, which is kept there. Who asks meanwhile waits for the same. */
  getOrPatchState<K extends keyof S>(field: K, compute: () => S[K] | Promise<S[K]>): Promise<S[K]>;

  /** Adds to numeric fields. A missing field counts as zero. */
  incState(increments: { [K in KeysOfType<S, number>]?: number }): Promise<boolean>;

  /** Appends one element to an array field. */
  pushState<K extends KeysOfType<S, readonly any[]>>(field: K, value: ElementOfField<S[K]>): Promise<boolean>;

  /** Sets one entry of a record field and leaves its other entries alone. A missing record starts empty. */
  setStateRecord<K extends RecordKeys<S>, E extends EntryKey<S[K]>>(
    field: K,
    key: E,
    value: NonNullable<S[K]>[E],
  ): Promise<boolean>;

  /** Removes one entry of a record field. */
  deleteStateRecord<K extends RecordKeys<S>>(field: K, key: EntryKey<S[K]>): Promise<boolean>;

  /** Computes several fields from one consistent state. The function must be synchronous and may run several times. */
  atomicState(mutator: (state: Readonly<S>) => Partial<S>): Promise<boolean>;
}

/** The state of one execution of one block: the enclosing sequencer, the block itself, or a target found by name. */
export interface TargetHandle<S = LooseState> extends StateHandle<S> {
  readonly name: string;
  /** `requestId:path:attempt` of the execution this state belongs to. */
  readonly instanceId: string;
  /** The value the block was called with. Annotate or check it, because any block may have the name. */
  readonly input: any;
}
