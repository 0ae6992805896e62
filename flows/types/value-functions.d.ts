/**
 * The module `@flow-state-dev/core/helpers`: functions for plain values, names and asynchronous work.
 */

import type { MaybePromise } from "./schema.js";

export declare function cloneValue<T>(value: T): T;
export declare function deepMerge<A extends object, B extends object>(base: A, override: B): A & B;
/** Compares JSON values; other values are refused. */
export declare function deepEqual(one: unknown, two: unknown): boolean;
export declare function looseDeepEqual(one: unknown, two: unknown): boolean;
/** JSON with sorted keys. */
export declare function stableStringify(value: unknown): string;

/** Applies `mapper` to each value, at most `maxConcurrency` at a time. Results are in the order of the values. */
export declare function mapLimit<T, R>(
  values: readonly T[],
  maxConcurrency: number | undefined,
  mapper: (value: T, index: number) => MaybePromise<R>,
): Promise<R[]>;
/** Fails with `<label> timed out after <ms>ms`, but does not stop the work. */
export declare function withTimeout<T>(
  promise: Promise<T>,
  timeoutMs: number | undefined,
  label: string,
  onTimeout?: () => Error,
): Promise<T>;
/** A change whose function may be called several times. Returns the `result` of the last call. */
export declare function withOutcome<S = any, R = unknown>(
  run: (updater: (state: any) => any) => Promise<unknown>,
  updater: (state: S) => MaybePromise<{ state: any; result: R }>,
): Promise<R | undefined>;
export declare function updateStateWith<S = any, R = unknown>(
  ref: { updateState(updater: (state: any) => any): Promise<unknown> },
  updater: (state: S) => MaybePromise<{ state: any; result: R }>,
): Promise<R | undefined>;
export declare function toError(value: unknown, fallback?: string): Error;

export declare function camelToKebab(name: string): string;
export declare function normalizeTagName(name: string): string;
export declare function sanitizeToolName(name: string): string;
export declare function ensureUniqueAlias(candidate: string, taken: Record<string, unknown>): string;
export declare function computeToolAliases(names: readonly string[]): Map<string, string>;
export declare function assertUniqueToolNames(names: readonly string[], context: string): void;
