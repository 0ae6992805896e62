/**
 * The module `@flow-state-dev/core/graph`, and `edges` of a resource: typed edges between nodes, and walks along them.
 */

import type { Schema } from "./schema.js";

/** A text; `namespace:key` for what lies in another resource. */
export type NodeRef = string;

export interface Edge {
  id: string;
  from: NodeRef;
  to: NodeRef;
  /** What it says, as in `depends_on`. */
  type: string;
  /** From 0 to 1. */
  confidence: number;
  validFrom: string | null;
  /** Null where it still holds. */
  validUntil: string | null;
  source: string[];
  createdAt: string;
}

export interface TraversalOpts {
  /** At most 6, usually 2. */
  depth?: number;
  direction?: "out" | "in" | "both";
  relationTypes?: readonly string[];
  /** Edges that held then, or hold now. */
  at?: string;
}

/** What is new of an edge; the rest is filled in. */
export interface AddEdgeInput {
  from: NodeRef;
  to: NodeRef;
  type: string;
  confidence?: number;
  validFrom?: string | null;
  source?: string[];
}

export interface EdgeSlotConfig {
  /** The types there may be. */
  vocabulary?: readonly string[];
  /** More make room: first what is over, then what is least certain. */
  maxEdges?: number;
}

/** `edges` of a resource that declares them. Reads are there at once; changes are changes of its state. */
export interface ResourceEdgeApi {
  add(edge: AddEdgeInput): Promise<Edge>;
  /** It held until now, or until `at`; it stays on record. */
  supersede(id: string, at?: string): Promise<void>;
  remove(id: string): Promise<void>;
  all(options?: { at?: string }): Edge[];
  neighbors(node: NodeRef, options?: TraversalOpts): Edge[];
  egoGraph(node: NodeRef, options?: TraversalOpts): { nodes: NodeRef[]; edges: Edge[] };
  shortestPath(from: NodeRef, to: NodeRef, options?: TraversalOpts): Edge[] | null;
  /** Removes edges that touch any other node. Answers how many there were. */
  pruneDangling(nodes: Iterable<NodeRef>): Promise<number>;
}

export declare const MAX_DEPTH: number;
export declare const edgeSchema: Schema<Edge, any> & { parse(value: unknown): Edge };
export declare const edgeListSchema: Schema<Edge[], any> & { parse(value: unknown): Edge[] };
export declare function nodeRef(namespace: string, key: string): NodeRef;
export declare function parseNodeRef(ref: NodeRef): { namespace?: string; key: string };
export declare function activeAt(edges: readonly Edge[], at?: string): Edge[];
export declare function neighbors(edges: readonly Edge[], node: NodeRef, options?: TraversalOpts): Edge[];
export declare function traverse(edges: readonly Edge[], start: NodeRef, options?: TraversalOpts): Edge[];
export declare function egoGraph(
  edges: readonly Edge[],
  node: NodeRef,
  options?: TraversalOpts,
): { nodes: NodeRef[]; edges: Edge[] };
export declare function shortestPath(
  edges: readonly Edge[],
  from: NodeRef,
  to: NodeRef,
  options?: TraversalOpts,
): Edge[] | null;
export declare function createResourceEdgeApi(
  ref: { readonly state: any; updateState(updater: (state: any) => any): Promise<unknown> },
  slot?: EdgeSlotConfig,
): ResourceEdgeApi;
