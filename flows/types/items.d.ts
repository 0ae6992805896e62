/**
 * Items: everything a run leaves for somebody to see, and the views that decide who sees what.
 */

export type ItemType =
  | "message"
  | "reasoning"
  | "block_tool_output"
  | "component"
  | "container"
  | "source"
  | "status"
  | "state_change"
  | "resource_change"
  | "step_error"
  | "error"
  | "block_output"
  | "router_decision"
  | "state_snapshot"
  | "suspension"
  | "suspension_resume"
  | "continuation"
  /** Newer spellings, accepted wherever items are selected by type. */
  | "tool_output"
  | "block_trace";

export type ItemStatus = "in_progress" | "completed" | "incomplete" | "failed";

/**
 * Who a generator speaks as. `primary` is seen by the user and by later model calls, `sub` by the user only,
 * `trace` by developers only.
 */
export type AgentType = "primary" | "sub" | "trace";

/** The newer spelling of `AgentType`, one switch for each audience. */
export interface ItemVisibility {
  client: boolean;
  history: boolean;
}

/** Says who an item belongs to. `agentType` and `itemVisibility` are two spellings; give one of them. */
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

/** Emitting is fire and forget: nothing needs to be awaited, and the order of calls is the order of items. */
export interface EmitNamespace {
  message(content: string | Content[], options?: MessageOptions): void;
  component(name: string, data: unknown, options?: ComponentOptions): void;
  status(message?: string, options?: StatusOptions): void;
}

export interface SessionItem {
  id: string;
  type: ItemType;
  status: ItemStatus;
  transient?: boolean;
  requestId: string;
  itemIndex: number;
  ts?: number;
  agentType?: AgentType;
  itemVisibility?: ItemVisibility;
  agentName?: string;
  /** The text of a message, the output of a tool, or the item itself. */
  payload: any;
}

/** How much to take. A plain number counts from the newest item; `turns` and `tokens` count whole earlier requests. */
export type ItemLimit = number | { turns: number } | { tokens: number };

export interface ItemQuery {
  limit?: ItemLimit;
  includeTransient?: boolean;
  itemTypes?: ItemType[];
  roles?: MessageRole[];
  agentName?: string | string[];
  agentType?: AgentType | AgentType[];
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

export interface SessionItems {
  /** Every item of the session, with those of the current request. */
  all(query?: ItemQuery): SessionItem[];
  /** What the user's client shows. */
  client(query?: ItemQuery): SessionItem[];
  /** Items without any visibility filter, to build a context by hand. */
  selectForContext(query?: ItemQuery): SessionItem[];
  /** The conversation as a model should see it. */
  history(query?: ItemQuery): Promise<ModelMessage[]>;
  /** An older spelling of `history`. */
  llm(query?: ItemQuery): Promise<ModelMessage[]>;
}

/** Decides which audiences see an item. It looks only at the item's type and identity. */
export declare function resolveItemVisibility(item: ItemIdentity & { type: ItemType }): ItemVisibility;
