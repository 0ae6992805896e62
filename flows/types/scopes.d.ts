/**
 * The four scopes that outlive a block, from the narrowest to the broadest: request, session, user, project.
 */

import type { SessionItems } from "./items.js";
import type { ResourceMap } from "./resource-handles.js";
import type { LooseState } from "./schema.js";
import type { StateHandle } from "./state.js";

export type ScopeIdentity = {
  type: "request" | "session" | "user" | "project";
  id: string;
  /** The owner. A project records who created it. */
  userId?: string;
  /** Present when a project is active. `orgId` is the same value under its other name. */
  projectId?: string;
  orgId?: string;
};

export interface TokenUsage {
  totalConsumed: number;
  byModel: Record<
    string,
    { prompt: number; completion: number; total: number; cacheReadTokens?: number; cacheCreationTokens?: number }
  >;
  /** Infinity when the action has no `tokenBudget`. */
  remaining: number;
}

/** One execution of one action. What is written here is gone when the request ends. */
export interface RequestScopeHandle<S = LooseState> extends StateHandle<S> {
  readonly identity: ScopeIdentity;
  /** What the models of this request have used so far. */
  readonly tokenUsage: TokenUsage;
  /** By the flow's `costEstimator`. Zero without one. */
  readonly costEstimate: { totalUSD: number; byModel: Record<string, number> };
}

export interface JournalEntry {
  id: string;
  ts: number;
  text: string;
  source?: string;
  tags?: string[];
  metadata?: Record<string, unknown>;
}

export interface SessionMetadata {
  title?: string;
  description?: string;
  tags?: string[];
  metadata?: Record<string, unknown>;
}

/** One conversation. */
export interface SessionScopeHandle<S = LooseState, R = {}> extends StateHandle<S> {
  readonly identity: ScopeIdentity;
  readonly metadata: SessionMetadata;
  readonly items: SessionItems;
  /** The resources of this scope. `ctx.resources` has those of all scopes. */
  readonly resources: ResourceMap<R>;
  /** Notes something. The journal only grows, and belongs to the session, not to its state. */
  appendJournal(entry: Pick<JournalEntry, "text" | "source" | "tags" | "metadata">): Promise<void>;
  /** The newest entries, oldest first among them. `offset` counts back from the newest. */
  getJournal(query?: { limit?: number; offset?: number }): Promise<JournalEntry[]>;
  /** Sets the given fields and leaves the others. The `metadata` bag is merged, one level deep. */
  setMetadata(metadata: SessionMetadata): Promise<void>;
}

/** One person, across all their sessions. */
export interface UserScopeHandle<S = LooseState, R = {}> extends StateHandle<S> {
  readonly identity: ScopeIdentity;
  /** The resources of this scope. `ctx.resources` has those of all scopes. */
  readonly resources: ResourceMap<R>;
}

/** One team, across its users. Also known as an organisation. */
export interface ProjectScopeHandle<S = LooseState, R = {}> extends StateHandle<S> {
  readonly identity: ScopeIdentity;
  /** The resources of this scope. `ctx.resources` has those of all scopes. */
  readonly resources: ResourceMap<R>;
}

/** The newer name of `ProjectScopeHandle`. */
export type OrgScopeHandle<S = LooseState, R = {}> = ProjectScopeHandle<S, R>;
