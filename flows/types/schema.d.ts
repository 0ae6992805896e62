/**
 * What a flow needs to know about a validation library, and nothing more.
 *
 * Types are read structurally, so a schema of `zod`, of `zod/v4` or of a second copy of either is equally welcome.
 */

/**
 * Any schema with an output side (after parsing) and an input side (before parsing).
 * The two differ where a schema has defaults or transforms: a caller may leave out what a default will fill in.
 */
export interface Schema<Out = any, In = any> {
  readonly _output: Out;
  readonly _input: In;
  safeParse(data: unknown): { success: boolean };
}

/** What a block receives, once the schema has parsed the value. */
export type OutputOf<S> = S extends Schema<infer Out, any> ? Out : never;

/** What a caller has to give before the schema has parsed the value. */
export type InputOf<S> = S extends Schema<any, infer In> ? In : never;

/** State nobody has declared a schema for. It is loose on purpose, so that a first sketch of a flow type-checks. */
export type LooseState = Record<string, any>;

export type MaybePromise<T> = T | Promise<T>;

/** A class whose instances are errors, as `when` and `retryableErrors` take them. */
export type ErrorClass = abstract new (...args: any[]) => Error;

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/**
 * Marks a top-level field of a sequencer's `stateSchema` as scratch: it is readable during the run, but it is in no event,
 * no checkpoint and no stream, and a resume starts it again from its default.
 * Apply it last, after `.optional()` and `.default()`, because the mark belongs to the outermost schema instance.
 */
export declare function transientSlot<S extends Schema>(schema: S): S;
