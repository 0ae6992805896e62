/**
 * The module `acts`: agents whose model answers with Calls, each of which sees the part of the context that is scoped
 * to it, and nothing else.
 */

import type { Block } from "./blocks.js";
import type { Schema as ParsingSchema } from "./schema.js";

/** A JSON Schema, or a zod schema. */
type Schema = { [key: string]: unknown } | ParsingSchema;

/** A message of a context. `_instance` makes it one instance's own; without it all see it. */
export type Message =
  | { type: "system"; message: string; _instance?: string }
  | { type: "text"; text: string; _instance?: string }
  | { type: "data"; data: unknown; kind?: string; description?: string; schema?: Schema; _instance?: string }
  | { type: "tool"; tool: string | { [name: string]: Schema } }
  | { type: "state" | "input" | "plan"; [key: string]: unknown };

/**
 * A filled-in tool, as the model answers it; in an Activity with its references resolved. A text that begins with `†` is
 * always a reference, and passes what it names of any kind, whatever is scoped: scopes are what comes besides the Call.
 */
export interface Call {
  _tool: string;
  _scopes?: string[];
  _instance?: string;
  _delegate?: string;
  /** Where the result goes: `†state.user.id`. `a && b` is both, `a || b` the one that the Activity chooses. */
  _outputPath?: string;
  /** How the result meets what is there: `push` and `concat` let a list grow. A path of the state is written once. */
  _outputMethod?: "set" | "merge" | "push" | "concat";
  /** The result of a latent Call, which the model makes itself. */
  _output?: unknown;
  [parameter: string]: any;
}

/** The merged payloads of the scoped messages, by kind, and nothing else. */
export type Scoped = { [kind: string]: any };

export const Tool: {
  /**
   * Registers a tool: a JSON Schema of an object. Properties without `_` are its parameters. The reserved ones
   * (`_scopes _outputPath _outputMethod _activity _delegate _instance _output`) have schemas of their own: `const`
   * binds, anything else lets the model choose. They may stand beside `properties` too. A Call is checked with the whole
   * schema; a keyword that JSON Schema does not know is warned of.
   */
  register(name: string, schema: Schema): void;
};

export const Activity: {
  /** Registers the code of a tool. What it returns is written to the Call's `_outputPath`. */
  register<C = Call, S = Scoped>(name: string, execute: (call: C, scoped: S) => unknown): void;
};

export const Delegate: {
  /** Registers a saved request: its own context comes first, then what is scoped to the Call. */
  register(name: string, definition: { context?: Message[]; schema?: Schema }): void;
};

/** A block whose output is that of the first solution without Calls. */
export function Agent<Input = any>(definition: {
  name: string;
  model: string | string[];
  /** Of the final output. */
  schema?: Schema;
  context: Message[] | ((input: Input) => Message[] | Promise<Message[]>);
  /** Which Calls a person has to agree to; `true` for all. */
  confirm?: boolean | ((call: Call) => boolean | Promise<boolean>);
  /** The most model calls in a row: 50 unless said otherwise. */
  maxTicks?: number;
  /** How deep delegates may nest: 8 unless said otherwise. */
  maxDepth?: number;
}): Block<Input, any>;
