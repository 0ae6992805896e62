// `ref.edges`: a graph that lies in the field `edges` of a resource's state. Reads look at that field, changes go the
// way of every change of the resource.

import { describeValue } from './arguments';
import { activeAt, egoGraph, neighbors, shortestPath, type Edge, type WalkOptions } from './edge-walks';

export interface EdgeSlot {
  vocabulary?: readonly string[];
  maxEdges?: number;
}

interface Held {
  readonly state: unknown;
  updateState(updater: (state: never) => unknown): Promise<unknown>;
}

interface NewEdge {
  from: string;
  to: string;
  type: string;
  confidence?: number;
  validFrom?: string | null;
  source?: string[];
}

type State = Record<string, unknown> & { edges?: Edge[] };

/** What does not fit goes: first what is over, the oldest first; then what is least certain. `added` stays. */
function withRoom(edges: Edge[], most: number | undefined, added: Edge): Edge[] {
  if (most === undefined || edges.length <= most) return edges;
  const rank = (edge: Edge) => (edge.validUntil === null ? 1 + edge.confidence : 0);
  const leaving = edges
    .filter((edge) => edge !== added)
    .sort((one, two) => rank(one) - rank(two) || one.createdAt.localeCompare(two.createdAt))
    .slice(0, edges.length - most);
  return edges.filter((edge) => !leaving.includes(edge));
}

function checked(given: NewEdge, { vocabulary }: EdgeSlot): void {
  for (const name of ['from', 'to', 'type'] as const) {
    if (typeof given?.[name] !== 'string' || given[name] === '')
      throw new TypeError(`edges.add needs "${name}" as a text, got ${describeValue(given?.[name])}`);
  }
  const { confidence = 1 } = given;
  if (typeof confidence !== 'number' || !(confidence >= 0 && confidence <= 1))
    throw new TypeError(`edges.add: confidence is a number from 0 to 1, got ${describeValue(confidence)}`);
  if (vocabulary && !vocabulary.includes(given.type))
    throw new Error(`Edge type "${given.type}" is not in the declared vocabulary: ${vocabulary.join(', ')}`);
}

export function createResourceEdgeApi(ref: Held, slot: EdgeSlot = {}) {
  const held = (): Edge[] => (ref.state as State).edges ?? [];
  const change = (edit: (edges: Edge[]) => Edge[]) =>
    ref.updateState(((state: State) => ({ ...state, edges: edit(state.edges ?? []) })) as never);
  const add = async (given: NewEdge): Promise<Edge> => {
    checked(given, slot);
    const edge: Edge = {
      id: crypto.randomUUID(),
      from: given.from,
      to: given.to,
      type: given.type,
      confidence: given.confidence ?? 1,
      validFrom: given.validFrom ?? null,
      validUntil: null,
      source: given.source ?? [],
      createdAt: new Date().toISOString(),
    };
    await change((edges) => withRoom([...edges, edge], slot.maxEdges, edge));
    return edge;
  };
  return {
    add,
    supersede: async (id: string, at = new Date().toISOString()): Promise<void> => {
      await change((edges) => edges.map((edge) => (edge.id === id ? { ...edge, validUntil: at } : edge)));
    },
    remove: async (id: string): Promise<void> => {
      await change((edges) => edges.filter((edge) => edge.id !== id));
    },
    all: ({ at }: { at?: string } = {}): Edge[] => (at === undefined ? [...held()] : activeAt(held(), at)),
    neighbors: (node: string, options?: WalkOptions) => neighbors(held(), node, options),
    egoGraph: (node: string, options?: WalkOptions) => egoGraph(held(), node, options),
    shortestPath: (from: string, to: string, options?: WalkOptions) => shortestPath(held(), from, to, options),
    pruneDangling: async (nodes: Iterable<string>): Promise<number> => {
      const known = new Set(nodes);
      let gone = 0;
      await change((edges) => {
        const kept = edges.filter((edge) => known.has(edge.from) && known.has(edge.to));
        gone = edges.length - kept.length;
        return kept;
      });
      return gone;
    },
  };
}
