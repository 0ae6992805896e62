/**
 * Type assertions for the tests of the declarations. Nothing here exists when a flow runs.
 */

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** `is<Equal<A, B>>()` compiles only if the two types are equal. */
export declare function is<T extends true>(): T;

/** `typed(value).as<Expected>(true)` compiles only if the value has exactly that type. */
export declare function typed<A>(value: A): { as<B>(ok: Equal<A, B>): void };

export type { Equal };
