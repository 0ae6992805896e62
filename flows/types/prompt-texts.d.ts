/**
 * The module `@flow-state-dev/core/prompt`: texts for models. What is empty or false is left out.
 */

export type Part = string | null | undefined | false;

/** `## Title` with its content below. `{ title, level }` makes a title of another level. */
export declare function section(title: string | { title: string; level?: number }, ...content: Part[]): string;
export declare function list(
  items: readonly Part[],
  options?: { ordered?: boolean; bullet?: string; prefix?: string },
): string;
/** `key: value`, one a line. `null` and `undefined` are left out. */
export declare function keyValues(data: Record<string, unknown>): string;
export declare function entries<T>(record: Record<string, T>, formatter: (key: string, value: T) => Part): string;
/** A Markdown table. Without `columns`, the keys of all records. */
export declare function table(
  rows: readonly Record<string, unknown>[],
  options?: { columns?: readonly string[]; headers?: Record<string, string> },
): string;
export declare function codeBlock(code: string, language?: string): string;
/** Parts with an empty line between them. */
export declare function join(...parts: Part[]): string;
/** The content where the condition holds; a function makes it only then. */
export declare function when(condition: unknown, content: string | (() => string)): string | undefined;

/** Texts and further tags by name. */
export interface TagAccumulator {
  [name: string]: TagAccumulatorValue;
}
export type TagAccumulatorValue = readonly string[] | TagAccumulator;

export interface RenderTaggedContextOptions {
  indent?: string;
  escape?: boolean;
}

/** A tag with its content as it is; nothing where there is none. */
export declare function xmlTag(name: string, content: string | readonly string[] | null | undefined): string;
export declare function renderTaggedContext(
  tagged: TagAccumulator,
  order?: readonly string[],
  options?: RenderTaggedContextOptions,
): string;
/** Names that no tag of an author may have. */
export declare const RESERVED_TAG_NAMES: ReadonlySet<string>;
export declare function validateTagName(name: string, source?: string): void;
