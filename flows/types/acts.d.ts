/**
 * The module `acts`: agents whose model answers with Calls. A Call sees only the part of the context that is scoped
 * to it.
 */

import type { Block } from "./blocks.js";
import type { Schema as ParsingSchema } from "./schema.js";

/** A JSON Schema, or a zod schema. */
type Schema = { [key: string]: unknown } | ParsingSchema;

/** A message of a context. With `_instance` only that instance sees it; otherwise all do. */
export type Message =
  | { type: "system"; message: string; _instance?: string }
  | { type: "text"; text: string; _instance?: string }
  | { type: "data"; data: unknown; kind?: string; description?: string; schema?: Schema; _instance?: string }
  | { type: "tool"; tool: string | { [name: string]: Schema } }
  | { type: "state" | "input" | "plan"; [key: string]: unknown };

/**
 * A tool call, as the model answers it; in an Activity with its references resolved. A string that begins with `†` is
 * always a reference. It passes the referenced value even if that is not in the Call's scopes.
 */
export interface Call {
  _tool: string;
  _scopes?: string[];
  _instance?: string;
  _delegate?: string;
  /** Where the result is written: `†state.user.id`. `a && b` writes both; of `a || b` the Activity chooses one. */
  _outputPath?: string;
  /** How the result is combined with the old value: `push` and `concat` extend a list. A state path is written once. */
  _outputMethod?: "set" | "merge" | "push" | "concat";
  /** The result of a latent Call, which the model writes itself. */
  _output?: unknown;
  [parameter: string]: any;
}

/** The merged payloads of the scoped messages, by kind. */
export type Scoped = { [kind: string]: any };

export const Tool: {
  /**
   * Registers a tool: a JSON Schema of an object. Properties without `_` are its parameters. The reserved properties
   * (`_scopes _outputPath _outputMethod _activity _delegate _instance _output`) also have schemas: `const` fixes the
   * value, any other schema lets the model choose. They may also be outside `properties`. A Call is checked with the
   * whole schema. Unknown keywords of JSON Schema cause a warning.
   */
  register(name: string, schema: Schema): void;
};

export const Activity: {
  /** Registers the code of a tool. Its return value is written to the Call's `_outputPath`. */
  register<C = Call, S = Scoped>(name: string, execute: (call: C, scoped: S) => unknown): void;
};

export const Delegate: {
  /** Registers a saved request. Its context consists of its own messages and then those scoped to the Call. */
  register(name: string, definition: { context?: Message[]; schema?: Schema }): void;
};

/** A block that calls the model until an answer has no Calls, and returns that answer's output. */
export function Agent<Input = any>(definition: {
  name: string;
  model: string | string[];
  /** The schema of the final output. */
  schema?: Schema;
  context: Message[] | ((input: Input) => Message[] | Promise<Message[]>);
  /** Which Calls a person must approve; `true` for all. */
  confirm?: boolean | ((call: Call) => boolean | Promise<boolean>);
  /** The maximum number of model calls (default 50). */
  maxTicks?: number;
  /** The maximum depth of nested delegates (default 8). */
  maxDepth?: number;
}): Block<Input, any>;
