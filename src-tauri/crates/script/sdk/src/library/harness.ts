// What blocks agree on that run a coding agent: what goes in, and what they say of a run.

import { z } from 'zod';

export const harnessRunInputSchema = z.object({ prompt: z.string() });

/** What every run can say of itself. */
export const harnessRunEnvelopeSchema = z.object({
  /** `<package>/<door>` */
  source: z.string(),
  status: z.enum(['dispatched', 'running', 'completed', 'errored']),
  sessionId: z.string().nullable(),
  url: z.string().nullable(),
  dispatchedAt: z.number(),
});

const usage = z.object({ inputTokens: z.number(), outputTokens: z.number() });
const cost = z.object({ usd: z.number(), basis: z.enum(['reported', 'estimated']) });

/** What one says that was seen to its end; null is what nobody told. */
export const harnessRunHandleSchema = harnessRunEnvelopeSchema.extend({
  outcome: z.enum(['finished', 'stopped-at-limit', 'failed']).nullable().default(null),
  finalMessage: z.string().nullable().default(null),
  usage: usage.nullable().default(null),
  cost: cost.nullable().default(null),
});
