/**
 * The items of a run, by type: after `if (item.type === "message")` TypeScript knows the fields.
 */

import type { AgentType, Content, ItemStatus, ItemVisibility, MessageRole } from "./items.js";
import type { SuspendAction, SuspensionStatus } from "./suspension.js";

/** The block an item comes from. */
export interface Provenance {
  /** `runtime` for items of the request itself. */
  blockName: string;
  /** Empty for the request itself. */
  path: string;
  /** `requestId:path:attempt`. */
  blockInstanceId: string;
  attempt: number;
  /** `work` for background work. */
  phase: "main" | "work";
}

/** The fields of every item. */
export interface ItemBase<T extends string> {
  id: string;
  type: T;
  status: ItemStatus;
  requestId: string;
  /** Its unique number among the items of its request. */
  itemIndex: number;
  /** Milliseconds since 1970. */
  ts: number;
  provenance: Provenance;
  /** Who sees it, derived from its type and its identity. */
  visibility: ItemVisibility;
  /** Whether it is only streamed, so that later requests do not find it. */
  transient?: boolean;
  /** The identity it was emitted with; see `visibility` for what follows from it. */
  agentType?: AgentType;
  itemVisibility?: ItemVisibility;
  agentName?: string;
  /** The text of a message, the output of a tool or block, and otherwise the whole item. */
  payload: any;
}

/** Which model answered. `requested` is the name in the flow, `actual` the provider's name. */
export interface ModelIdentity {
  actual: string;
  requested?: string;
  gateway?: string;
}

/** The error of an item. */
export interface ItemError {
  name?: string;
  message: string;
  code?: string;
  details?: any;
}

export interface MessageItem extends ItemBase<"message"> {
  role: MessageRole;
  content: Content[];
  model?: ModelIdentity;
}

/** The reasoning of a model before its answer. */
export interface ReasoningItem extends ItemBase<"reasoning"> {
  summary: Content[];
  model?: ModelIdentity;
}

/** A tool that a model called, or a block behind `asTool()`. */
export interface ToolOutputItem extends ItemBase<"block_tool_output"> {
  blockName: string;
  output?: any;
  /** `arguments` is JSON. `alias` is the tool's name as the model sees it. */
  toolCall: { callId: string; name: string; alias?: string; arguments: string; generatorBlock: string };
  error?: ItemError;
  /** The output of an earlier call with the same arguments. */
  cached?: boolean;
  cacheAgeMs?: number;
}

export interface ComponentItem extends ItemBase<"component"> {
  component: string;
  data: any;
  key?: string;
}

/** Groups the items that a sequencer or router with a `container` emits. */
export interface ContainerItem extends ItemBase<"container"> {
  blockName: string;
  component?: string;
  label?: string;
  metadata?: Record<string, any>;
  startedAt?: number;
  completedAt?: number;
  duration?: number;
  error?: ItemError;
}

/** A source of an answer, such as a web page. */
export interface SourceItem extends ItemBase<"source"> {
  sourceType: "url";
  sourceId: string;
  url: string;
  title?: string;
  providerMetadata?: any;
}

export interface StatusItem extends ItemBase<"status"> {
  message: string | null;
  detail?: any;
  blocked?: boolean;
  backgroundTasks?: number;
}

/** A committed change of state. `value` is the new value, so that clients need not read the state again. */
export interface StateChangeItem extends ItemBase<"state_change"> {
  scope: "request" | "session" | "user" | "project" | "sequencer" | "block";
  scopeId: string;
  blockInstanceId?: string;
  operation: "patch" | "set" | "increment" | "push" | "delete_key" | "atomic";
  path?: string;
  delta?: any;
  value: any;
  version: number;
}

export interface ResourceChangeItem extends ItemBase<"resource_change"> {
  scope: "session" | "user" | "project";
  resourcePath: string;
  changeType: "created" | "updated" | "deleted";
  operation?: string;
  path?: string;
  delta?: any;
  value?: any;
  version?: number;
}

/** A failure that did not end the request: background work, or a step that was rescued. */
export interface StepErrorItem extends ItemBase<"step_error">, ItemError {}

/** The failure that ended the request. */
export interface ErrorItem extends ItemBase<"error">, ItemError {}

/** One execution of one block. */
export interface BlockOutputItem extends ItemBase<"block_output"> {
  blockName: string;
  blockKind: "handler" | "generator" | "sequencer" | "router";
  input?: any;
  output?: any;
  error?: ItemError;
  startedAt: number;
  completedAt: number;
  duration: number;
  model?: string;
  modelUsage?: Record<string, any>;
}

export interface RouterDecisionItem extends ItemBase<"router_decision"> {
  routerName: string;
  selectedRoute: string;
}

/** A sequencer's state after a step that changed it, without its transient slots. */
export interface StateSnapshotItem extends ItemBase<"state_snapshot"> {
  key: string;
  blockInstanceId: string;
  stepName: string;
  /** The position of the operation among those that ran; -1 for `__initial__`. */
  stepIndex: number;
  state: any;
  version: number;
  durable: boolean;
  /** The last one of this execution. */
  terminal: boolean;
}

/** The run waits for an answer. */
export interface SuspensionItem extends ItemBase<"suspension"> {
  suspensionId: string;
  suspensionStatus: SuspensionStatus;
  reason: string;
  message?: string;
  data?: any;
  resumeSchema?: any;
  render?: { component: string; props?: Record<string, any> };
  /** The accepted kinds of answers. */
  allow: SuspendAction[];
  /** When the question expires, in milliseconds since 1970. */
  expiresAt?: number;
  blockInstanceId: string;
}

/** The question was answered. */
export interface SuspensionResumeItem extends ItemBase<"suspension_resume"> {
  suspensionId: string;
  resolution: SuspensionStatus;
  resolvedBy?: string;
  resumeData?: any;
  resolvedAt: number;
}

/** An interrupted run was resumed here. */
export interface ContinuationItem extends ItemBase<"continuation"> {
  trigger: "recovery";
  /** How many items there were before. */
  priorItemCount: number;
  /** The block at which it was interrupted, if that is known. */
  resumedAtPath?: string;
  continuedAt: number;
}

export type Item =
  | MessageItem
  | ReasoningItem
  | ToolOutputItem
  | ComponentItem
  | ContainerItem
  | SourceItem
  | StatusItem
  | StateChangeItem
  | ResourceChangeItem
  | StepErrorItem
  | ErrorItem
  | BlockOutputItem
  | RouterDecisionItem
  | StateSnapshotItem
  | SuspensionItem
  | SuspensionResumeItem
  | ContinuationItem;

/** The types an item can have. */
export type CanonicalItemType = Item["type"];

/** Newer names of two types. They are accepted in queries by type; an item itself has the older name. */
interface NewerNames {
  tool_output: "block_tool_output";
  block_trace: "block_output";
}

/** The types that a query accepts. */
export type ItemType = CanonicalItemType | keyof NewerNames;

/** An item of one of these types. */
export type ItemOf<K extends ItemType> = Extract<Item, { type: K extends keyof NewerNames ? NewerNames[K] : K }>;

/** An item in the views of a session. */
export type SessionItem = Item;
