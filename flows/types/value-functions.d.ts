/**
 * The module `@flow-state-dev/core/helpers`: plain values, names, and work that takes time.
 */

import type { MaybePromise } from "./schema.js";

export declare function cloneValue<T>(value: T): T;
export declare function deepMerge<A extends object, B extends object>(base: A, override: B): A & B;
/** Of JSON values; anything else is refused. */
export declare function deepEqual(one: unknown, two: unknown): boolean;
export declare function looseDeepEqual(one: unknown, two: unknown): boolean;
/** JSON with its keys in order. */
export declare function stableStringify(value: unknown): string;

/** `mapper` of each value, at most `maxConcurrency` at a time, in the order of the values. */
export declare function mapLimit<T, R>(
  values: readonly T[],
  maxConcurrency: number | undefined,
  mapper: (value: T, index: number) => MaybePromise<R>,
): Promise<R[]>;
/** Fails with `<label> timed out after <ms>ms`; the work goes on. */
export declare function withTimeout<T>(
  promise: Promise<T>,
  timeoutMs: number | undefined,
  label: string,
  onTimeout?: () => Error,
): Promise<T>;
/** A change whose function may be called again: gives the `result` of the call that counted. */
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
