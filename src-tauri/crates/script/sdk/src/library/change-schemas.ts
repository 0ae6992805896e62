// What the reactions to a resource get, as schemas (SEMANTICS §4.10).

import { z } from 'zod';
import { describeValue } from '../base/arguments';
import { isSchema, parse, type AnySchema } from '../base/schema';

/** A schema of the workspace's own zod, or of another generation, as one of ours. */
function adopted(schema: AnySchema): z.ZodTypeAny {
  if (typeof (schema as { _parse?: unknown })._parse === 'function') return schema as unknown as z.ZodTypeAny;
  return z.any().transform((value, ctx) => {
    const answer = parse(schema, value);
    for (const { path, message } of answer.issues ?? []) {
      ctx.addIssue({ code: z.ZodIssueCode.custom, message, path: path === '' ? [] : path.split('.') });
    }
    return answer.data;
  });
}

/** What a reaction to a changed state gets. */
export function resourceChangeSchema(stateSchema: unknown): z.ZodTypeAny {
  if (!isSchema(stateSchema)) {
    throw new TypeError(
      `resourceChangeSchema needs the state schema of the resource, got ${describeValue(stateSchema)}`,
    );
  }
  const state = adopted(stateSchema).nullable();
  return z.object({
    key: z.string(),
    ref: z.string(),
    kind: z.enum(['created', 'stateUpdated', 'updated', 'deleted']),
    state,
    prevState: state,
    evicted: z.boolean(),
  });
}

/** What a reaction to a changed text gets; the text itself is read from the resource. */
export function resourceContentChangeSchema(): z.ZodTypeAny {
  return z.object({ key: z.string(), ref: z.string(), kind: z.literal('contentUpdated') });
}

/** What the entry of a task gets: the task, and for which board and seat it was claimed. */
export const taskDispatchInputSchema = z.object({
  boardId: z.string(),
  seat: z.string(),
  taskId: z.string(),
  attempt: z.number(),
  createdAt: z.number(),
  incarnationId: z.string().optional(),
  payload: z.unknown(),
});
