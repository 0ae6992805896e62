/**
 * How items are emitted, and the views that decide who sees which. What an item of each type holds is in `item.d.ts`.
 */

import type { ItemOf, ItemType } from "./item.js";

export type ItemStatus = "in_progress" | "completed" | "incomplete" | "failed";

/**
 * Who a generator speaks as. `primary` is seen by the user and by later model calls, `sub` by the user only,
 * `trace` by developers only.
 */
export type AgentType = "primary" | "sub" | "trace" | OlderAgentType;

/** Older words for `primary` and `sub`. They are told once. */
export type OlderAgentType = "agent" | "sub-agent";

/** The newer spelling of `AgentType`, one switch for each audience. */
export interface ItemVisibility {
  client: boolean;
  history: boolean;
}

/** Says who an item belongs to. Where both are given, `itemVisibility` counts, unless the agent type is `trace`. */
export interface ItemIdentity {
  agentType?: AgentType;
  itemVisibility?: ItemVisibility;
  agentName?: string;
}

export type Content =
  | { type: "output_text"; text: string }
  | { type: "reasoning_text"; text: string }
  | { type: "output_audio"; audio: string; mediaType: string; transcript?: string; duration?: number };

export interface MessageOptions extends ItemIdentity {
  transient?: boolean;
}

export interface ComponentOptions extends ItemIdentity {
  /** Emitting the same component with the same key again replaces its data instead of adding a second item. */
  key?: string;
  transient?: boolean;
}

export interface StatusOptions {
  blocked?: boolean;
  backgroundTasks?: number;
  /** A status is transient unless this is false. */
  transient?: boolean;
}

/** What was emitted. Every item is done at once, so nothing needs to be done with this. */
export interface Emitted {
  done(): void;
}

/** Each addition keeps the whole message once more, so that a text of many pieces is better said at once. */
export interface EmittedMessage extends Emitted {
  /** Adds to the text at the end. */
  appendDelta(text: string): EmittedMessage;
  /** Adds a part. */
  addContent(part: Content): EmittedMessage;
}

export interface EmittedComponent extends Emitted {
  /** Replaces the component's data. */
  update(data: unknown): EmittedComponent;
}

/** Emitting is fire and forget: nothing needs to be awaited, and the order of calls is the order of items. */
export interface EmitNamespace {
  message(content: string | Content[], options?: MessageOptions): EmittedMessage;
  component(name: string, data: unknown, options?: ComponentOptions): EmittedComponent;
  status(message?: string, options?: StatusOptions): Emitted;
}

/** How much to take. A plain number counts from the newest item; `turns` and `tokens` count whole earlier requests. */
export type ItemLimit = number | { turns: number } | { tokens: number };

export interface ItemQuery<K extends ItemType = ItemType> {
  limit?: ItemLimit;
  /** Also what only streams by, such as statuses. */
  includeTransient?: boolean;
  itemTypes?: readonly K[];
  roles?: readonly MessageRole[];
  agentName?: string | readonly string[];
  agentType?: AgentType | readonly AgentType[];
  /** Items with exactly this visibility. */
  itemVisibility?: ItemVisibility;
  /** Whether `history` also contains what the current request has emitted so far. It does unless this is false. */
  includeInFlight?: boolean;
}

export type MessageRole = "system" | "developer" | "user" | "assistant" | "tool";

/** A message as a model receives it. */
export interface ModelMessage {
  role: MessageRole;
  content: any;
}

/** The items of a session: those of its completed requests, and what the current request has emitted so far. */
export interface SessionItems {
  /** Every item. With `itemTypes`, TypeScript knows which fields the found items have. */
  all<K extends ItemType = ItemType>(query?: ItemQuery<K>): ItemOf<K>[];
  /** What the user's client shows. */
  client<K extends ItemType = ItemType>(query?: ItemQuery<K>): ItemOf<K>[];
  /** Items without any visibility filter, to build a context by hand. */
  selectForContext<K extends ItemType = ItemType>(query?: ItemQuery<K>): ItemOf<K>[];
  /** The conversation as a model should see it. It is there at once; awaiting it is allowed, too. */
  history(query?: ItemQuery): ModelMessage[];
  /** An older spelling of `history`. */
  llm(query?: ItemQuery): ModelMessage[];
}

/**
 * Decides which audiences see an item. It looks only at the item's type and identity:
 *
 * - `agentType: "trace"` hides an item of any type from both;
 * - messages, reasoning and tool outputs follow `itemVisibility` or else `agentType`, and are seen by both without either;
 * - records of execution (`block_output`, `router_decision`, `state_snapshot`) are for developers only;
 * - everything else is for the client, and never part of the history.
 */
export declare function resolveItemVisibility(item: ItemIdentity & { type: ItemType }): ItemVisibility;
