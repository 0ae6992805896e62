/**
 * The modules `@standardagents/builder` and `@standardagents/spec`: agents with two sides, their prompts, tools, hooks
 * and models.
 *
 * One file holds one agent, its default export, and a tool is known by the name it is exported under. In a project,
 * `agents/{agents,prompts,tools,hooks,models}/*.ts`, each file has one definition, its default export, and a tool is
 * known by the name of its file. Prompts, agents and models have names of their own.
 */

import type { FlowType } from "./flow.js";
import type { MaybePromise, OutputOf, Schema } from "./schema.js";

/** Which of an agent's sides: `a` is stored as `assistant`, `b` as `user`. */
export type Side = "a" | "b";

/** A message of a thread. */
export interface Message {
  id: string;
  role: "system" | "user" | "assistant" | "tool";
  content: string | null;
  name?: string | null;
  /** The calls of an assistant's message: a list of `ToolCall` as JSON text. */
  tool_calls?: string | null;
  /** The call that a tool's message answers. */
  tool_call_id?: string | null;
  log_id?: string | null;
  /** Microseconds since the epoch. Messages of one execution are numbered from its beginning. */
  created_at: number;
  status?: "pending" | "completed" | "failed";
  /** Whether people do not see it. */
  silent?: boolean;
  /** 0 in the conversation, more in sub-prompts. */
  depth?: number;
  /** The tool message of the sub-prompt that it belongs to. */
  parent_id?: string | null;
  /** The prompt that said it. */
  prompt?: string | null;
  tool_status?: "success" | "error";
  metadata?: unknown;
}

/** A call of a tool. */
export interface ToolCall {
  id: string;
  type: "function";
  function: {
    name: string;
    /** JSON text. */
    arguments: string;
  };
}

/** The result of a tool. */
export interface ToolResult {
  status: "success" | "error";
  result?: unknown;
  error?: string;
  content?: ({ type: "text"; text: string } | { type: string; [field: string]: unknown })[];
}

/** Values by key, kept with the thread. */
export interface ThreadStorage {
  get<T = unknown>(key: string): Promise<T | undefined>;
  get<T = unknown>(keys: string[]): Promise<Map<string, T>>;
  put(key: string, value: unknown): Promise<void>;
  put(entries: Record<string, unknown>): Promise<void>;
  delete(key: string): Promise<boolean>;
  delete(keys: string[]): Promise<number>;
  deleteAll(): Promise<void>;
  list<T = unknown>(options?: {
    prefix?: string;
    start?: string;
    startAfter?: string;
    end?: string;
    reverse?: boolean;
    limit?: number;
  }): Promise<Map<string, T>>;
  /** Keeps all changes of the body, or none if it throws or calls `rollback`. */
  transaction<T>(body: (storage: ThreadStorage & { rollback(): void }) => Promise<T>): Promise<T>;
}

/** The state of one execution, live: tools and hooks get it as their first argument. */
export interface FlowState {
  /** The session's id. */
  readonly threadId: string;
  /** The request's id; of a sub-prompt, `prompt-` and the id of its call. */
  readonly flowId: string;
  readonly thread: {
    readonly instance: { readonly id: string };
    readonly metadata: {
      readonly id: string;
      readonly agent_id: string;
      readonly user_id: string;
      readonly created_at: number;
    };
  };
  /** The definition of the agent, as far as it is data. */
  readonly agentConfig: AgentConfig;
  currentSide: Side;
  turnCount: number;
  /** Set it to true to stop after this turn; tools that wait are dropped. */
  stopped: boolean;
  stoppedBy?: Side | undefined;
  /** A working copy: changes last until the turn ends, and the thread keeps its messages. */
  messageHistory: Message[];
  sequence: {
    queue: ToolCall[];
    isHandling: boolean;
  };
  readonly storage: ThreadStorage;
  /** `env` of `flowglass.json`. */
  readonly env: Readonly<Record<string, string>>;
  context: Record<string, any>;
  /** Inside a sub-prompt: the state of the execution. */
  readonly rootState?: FlowState | undefined;
  readonly isChildPrompt?: boolean | undefined;
}

/** The function of a tool. Any value other than a `ToolResult` is the result of a success. */
export type ToolHandler<A> = (flow: FlowState, args: A) => MaybePromise<unknown>;

/** A function that a model can call. Export it: its name is that of the export. */
export interface Tool {
  readonly description: string;
}

export declare function defineTool<S extends Schema>(
  description: string,
  args: S,
  handler: ToolHandler<OutputOf<S>>,
  returnSchema?: Schema,
): Tool;
export declare function defineTool(description: string, handler: ToolHandler<Record<string, unknown>>): Tool;
export declare function defineTool<S extends Schema>(definition: {
  description: string;
  args: S;
  execute: ToolHandler<OutputOf<S>>;
}): Tool;

/** A part of a prompt's text. */
export type PromptPart =
  | string
  | { type: "text"; content: string }
  | { type: "include"; prompt: string }
  /** An older form of a text, and of another prompt's text. */
  | { type: "string"; content: string }
  | { type: "string"; value: string }
  | { type: "prompt"; prompt: string }
  | { type: "prompt"; name: string }
  | { type: "env"; property: string }
  | { type: "variable"; name: string };

/** A prompt that another one calls as a tool, and which of its messages become the result. */
export interface SubpromptConfig {
  name: string;
  /** The argument that it gets as a message of the user. */
  initUserMessageProperty?: string;
  includeTextResponse?: boolean;
  includeToolCalls?: boolean;
  /** If `false`, a failure is reported like that of any other tool, `Failed to execute tool: …`, not as `Error: …`. */
  includeErrors?: boolean;
}

export interface PromptConfig {
  /** Mock scripts are keyed by it. */
  name: string;
  /** `{{name}}` stands for a value of `context` or of the arguments. */
  prompt: string | PromptPart[];
  /** The model, or several to try in turn. */
  model: string | string[];
  /** Its description for another prompt's model. */
  toolDescription?: string;
  /** Whether the model gets the conversation (default false). */
  includeChat?: boolean;
  /** Whether the conversation includes tool calls and their results (default false). */
  includePastTools?: boolean;
  /** Tools, prompts and agents by their names. */
  tools?: (string | SubpromptConfig)[];
  /** Its arguments, if it is called as a tool. */
  requiredSchema?: Schema;
  maxTokens?: number;
  parallelToolCalls?: boolean;
  toolChoice?: "auto" | "none" | "required";
  reasoning?: { effort?: "low" | "medium" | "high"; maxTokens?: number; include?: boolean; exclude?: boolean };
}

export interface Prompt {
  readonly name: string;
}

export declare function definePrompt(definition: PromptConfig): Prompt;

/** A model by the name that prompts use. A model of that name in `flowglass.json` takes precedence. */
export interface ModelConfig {
  name: string;
  /** Like `openai`, or `"openai"`. */
  provider: string | Provider;
  /** The provider's name of it. */
  model: string;
  /** The models to try after it. */
  fallbacks?: string[];
  capabilities?: Record<string, unknown>;
  inputPrice?: number;
  outputPrice?: number;
  cachedPrice?: number;
  includedProviders?: string[];
  providerOptions?: Record<string, unknown>;
  providerTools?: string[];
}

/** What a provider's package exports, like `openai` of `@standardagents/openai`. */
export interface Provider {
  (options?: unknown): Provider;
  readonly providerName: string;
}

export interface Model {
  readonly name: string;
}

export declare function defineModel(definition: ModelConfig): Model;

/** One side of an agent. A side without a prompt is a person. */
export interface SideConfig {
  label?: string;
  human?: boolean;
  prompt?: string;
  /** Whether an answer without tool calls ends its turns (default true). */
  stopOnResponse?: boolean;
  /** The tool that ends its turns when it is called. */
  stopTool?: string;
  /** The argument of that call which becomes the answer. */
  stopToolResponseProperty?: string;
  /** The maximum number of model calls in one execution. */
  maxTurns?: number;
  /** The tool that ends the conversation when it succeeds. */
  endConversationTool?: string | { name: string; messageProperty?: string };
  /** The tool that ends it as failed. */
  sessionFail?: string | { name: string; messageProperty?: string };
}

export interface AgentConfig {
  name: string;
  type?: "ai_human" | "dual_ai";
  description?: string;
  sideA: SideConfig;
  sideB?: SideConfig;
  /** The maximum number of exchanges in a session. */
  maxSessionTurns?: number;
  /** Whether another agent of the file can hand the conversation to it. */
  exposeAsTool?: boolean;
  toolDescription?: string;
}

/** An agent: a flow with one action, `message`, whose input is `{ content, silent? }`. */
export declare function defineAgent(definition: AgentConfig): FlowType;

/** The functions of hooks. A hook that returns nothing changes nothing. */
export interface Hooks {
  filter_messages: (flow: FlowState, messages: Message[]) => MaybePromise<Message[] | void>;
  /** Throw an error with `block: true` to refuse the model call. */
  prefilter_llm_history: (flow: FlowState, messages: LlmMessage[]) => MaybePromise<LlmMessage[] | void>;
  before_create_message: (flow: FlowState, message: Message) => MaybePromise<Message | void>;
  after_create_message: (flow: FlowState, message: Message) => MaybePromise<void>;
  before_update_message: (
    flow: FlowState,
    id: string,
    updates: Partial<Message>,
  ) => MaybePromise<Partial<Message> | void>;
  after_update_message: (flow: FlowState, message: Message) => MaybePromise<void>;
  /** Null removes the call from the conversation. */
  after_tool_call_success: (
    flow: FlowState,
    call: ToolCall,
    result: ToolResult,
  ) => MaybePromise<ToolResult | null | void>;
  after_tool_call_failure: (
    flow: FlowState,
    call: ToolCall,
    result: ToolResult,
  ) => MaybePromise<ToolResult | null | void>;
}

/** A message as a model gets it. */
export interface LlmMessage {
  role: "system" | "user" | "assistant" | "tool";
  content: string | null;
  tool_calls?: ToolCall[];
  tool_call_id?: string;
  name?: string;
}

/** A function that is called at one place of every turn of the agent of this file. */
export declare function defineHook<K extends keyof Hooks>(hook: K, execute: Hooks[K]): unknown;
export declare function defineHook<K extends keyof Hooks>(definition: {
  hook: K;
  id?: string;
  execute: Hooks[K];
}): unknown;

/** Adds a call to the end of the queue. It may name any tool, prompt or agent of the file. */
export declare function queueTool(flow: FlowState, name: string, args?: unknown): void;

/** A message that is put into a thread without a turn. */
export interface InjectedMessage {
  content: string;
  role: Message["role"];
  id?: string;
  /** The message before which it is inserted (default: the end). */
  beforeMessageId?: string;
  toolCallId?: string;
  name?: string;
  silent?: boolean;
  metadata?: unknown;
  /** In a sub-prompt: puts it into the conversation itself. */
  forceTopLevel?: boolean;
  forceTurn?: "side_a" | "side_b";
}

export declare function injectMessage(flow: FlowState, message: InjectedMessage): Promise<Message>;

/** Stores a message before the next turn; the first queued message decides who speaks. Returns its id. */
export declare function queueMessage(
  flow: FlowState,
  message: { content: string; role?: "user" | "assistant"; silent?: boolean },
): string;

/** A part of the thread's messages, those of sub-prompts too. */
export declare function getMessages(
  flow: FlowState,
  limit?: number,
  offset?: number,
  order?: "asc" | "desc" | "ASC" | "DESC",
): Promise<Message[]>;

/** Resets `messageHistory` to the stored conversation, and returns it. */
export declare function reloadHistory(flow: FlowState): Promise<Message[]>;

/** Emits an item of type `component` with this name for clients of the thread. */
export declare function emitThreadEvent(flow: FlowState, type: string, data?: unknown): void;

/** Sets who speaks after this turn. */
export declare function forceTurn(flow: FlowState, side: "side_a" | "side_b"): void;
