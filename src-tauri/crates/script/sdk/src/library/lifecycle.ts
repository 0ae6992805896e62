// `lifecycleSchema`: the fields of a state that tell how far a piece of work is.

import { z } from 'zod';

export function lifecycleSchema<const S extends readonly [string, ...string[]]>(statuses: S) {
  const text = () => z.string().nullable().default(null);
  return { status: z.enum(statuses), startedAt: text(), completedAt: text(), errorMessage: text() };
}

/** How much of a run is kept for debugging: all of it, whatever is asked for. */
export const isTraceObservabilityEnabled = (): boolean => true;
export const resolveTracingLevel = (explicit?: string): string => explicit ?? 'verbose';
