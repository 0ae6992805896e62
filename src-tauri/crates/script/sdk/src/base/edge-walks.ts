// Walks along typed edges: what is near a node, and how one leads to another. Each ends: depth has a limit, and no node
// is visited twice.

export interface Edge {
  id: string;
  from: string;
  to: string;
  type: string;
  confidence: number;
  validFrom: string | null;
  validUntil: string | null;
  source: string[];
  createdAt: string;
}

export interface WalkOptions {
  depth?: number;
  direction?: 'out' | 'in' | 'both';
  relationTypes?: readonly string[];
  at?: string;
}

export const MAX_DEPTH = 6;
const USUAL_DEPTH = 2;

/** `namespace:key`, the key in small letters. */
export const nodeRef = (namespace: string, key: string): string => `${namespace}:${key.toLowerCase()}`;

export function parseNodeRef(ref: string): { namespace?: string; key: string } {
  const at = ref.indexOf(':');
  return at < 0 ? { key: ref } : { namespace: ref.slice(0, at), key: ref.slice(at + 1) };
}

/** The edges that hold at an instant, or now. */
export function activeAt(edges: readonly Edge[], at?: string): Edge[] {
  const instant = at === undefined ? Date.now() : Date.parse(at);
  return edges.filter(
    ({ validFrom, validUntil }) =>
      (validFrom === null || Date.parse(validFrom) <= instant) &&
      (validUntil === null || Date.parse(validUntil) > instant),
  );
}

function walked(edges: readonly Edge[], { relationTypes, at }: WalkOptions): Edge[] {
  const active = activeAt(edges, at);
  return relationTypes && relationTypes.length > 0
    ? active.filter((edge) => relationTypes.includes(edge.type))
    : active;
}

/** Where an edge leads from a node; nothing if it does not touch it, or not in this direction. */
function onward(edge: Edge, node: string, { direction = 'both' }: WalkOptions): string | undefined {
  if (direction !== 'in' && edge.from === node) return edge.to;
  if (direction !== 'out' && edge.to === node) return edge.from;
  return undefined;
}

export function neighbors(edges: readonly Edge[], node: string, options: WalkOptions = {}): Edge[] {
  return walked(edges, options).filter((edge) => onward(edge, node, options) !== undefined);
}

/** Visits nodes, the nearest first, and tells of each edge that is walked; `false` ends the walk. */
function walk(
  edges: readonly Edge[],
  start: string,
  options: WalkOptions,
  depth: number,
  tell: (edge: Edge, node: string, isNew: boolean) => boolean | void,
): Set<string> {
  const known = new Set([start]);
  let last = [start];
  for (let hop = 0; hop < depth && last.length > 0; hop++) {
    const next: string[] = [];
    for (const node of last) {
      for (const edge of edges) {
        const other = onward(edge, node, options);
        if (other === undefined) continue;
        const isNew = !known.has(other);
        if (isNew) {
          known.add(other);
          next.push(other);
        }
        if (tell(edge, other, isNew) === false) return known;
      }
    }
    last = next;
  }
  return known;
}

const depthOf = ({ depth = USUAL_DEPTH }: WalkOptions): number => Math.max(0, Math.min(depth, MAX_DEPTH));

/** The edges on the way to everything within `depth` steps. */
export function traverse(edges: readonly Edge[], start: string, options: WalkOptions = {}): Edge[] {
  const found = new Set<Edge>();
  walk(walked(edges, options), start, options, depthOf(options), (edge) => void found.add(edge));
  return [...found];
}

/** All nodes within `depth` steps, and every edge between two of them. */
export function egoGraph(edges: readonly Edge[], node: string, options: WalkOptions = {}) {
  const active = walked(edges, options);
  const nodes = walk(active, node, options, depthOf(options), () => {});
  return { nodes: [...nodes], edges: active.filter((edge) => nodes.has(edge.from) && nodes.has(edge.to)) };
}

/** The fewest edges from one node to another, in order; `null` if none lead there within `depth` steps. */
export function shortestPath(
  edges: readonly Edge[],
  from: string,
  to: string,
  options: WalkOptions = {},
): Edge[] | null {
  if (from === to) return [];
  const active = walked(edges, options);
  const cameBy = new Map<string, Edge>();
  walk(active, from, options, depthOf(options), (edge, node, isNew) => {
    if (isNew) cameBy.set(node, edge);
    return node !== to;
  });
  if (!cameBy.has(to)) return null;
  const path: Edge[] = [];
  for (let at = to; at !== from;) {
    const edge = cameBy.get(at) as Edge;
    path.unshift(edge);
    at = edge.from === at ? edge.to : edge.from;
  }
  return path;
}
