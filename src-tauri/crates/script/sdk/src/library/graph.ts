// `@flow-state-dev/core/graph`.

import { z } from 'zod';

export {
  nodeRef,
  parseNodeRef,
  activeAt,
  egoGraph,
  MAX_DEPTH,
  neighbors,
  shortestPath,
  traverse,
} from '../base/edge-walks';
export { createResourceEdgeApi } from '../base/resource-edges';

/** An edge: what leads from where to where, how certain it is, and from when until when it holds. */
export const edgeSchema = z.object({
  id: z.string(),
  from: z.string(),
  to: z.string(),
  type: z.string(),
  confidence: z.number().min(0).max(1).default(1),
  validFrom: z.string().datetime().nullable().default(null),
  validUntil: z.string().datetime().nullable().default(null),
  source: z.array(z.string()).default([]),
  createdAt: z.string().datetime(),
});

export const edgeListSchema = z.array(edgeSchema);
