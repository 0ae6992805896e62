// Waits for how a task ended: `parkOnAsk` goes on when somebody says it.
//
// Must not: find that out. Here whoever answers says it, as of any question (SEMANTICS §9).

import { z } from 'zod';

import { SuspensionTimeoutError } from '../base/errors';

/** How such a question may end without an answer. */
const ENDINGS = ['wait_timed_out', 'wait_task_failed', 'wait_task_cancelled'] as const;
type Ending = (typeof ENDINGS)[number];

/** The task ended, and there is no answer. */
export class AskEndedError extends Error {
  readonly code: Ending;

  constructor(code: Ending, message: string) {
    super(`${code}: ${message}`);
    this.name = 'AskEndedError';
    this.code = code;
  }
}

/** Whoever asked was stopped. */
export class AskStoppedError extends Error {
  constructor() {
    super('The asking turn was stopped.');
    this.name = 'AskStoppedError';
  }
}

/** What answers it. */
const outcome = z.union([
  z.object({ answered: z.literal(true), answer: z.unknown() }),
  z.object({ answered: z.literal(false), stopped: z.literal(true) }),
  z.object({ answered: z.literal(false), error: z.object({ code: z.enum(ENDINGS), message: z.string() }) }),
]);

interface Asked {
  gateId: string;
  binding: { board: string; taskId: string };
  message?: string;
  /** In milliseconds since 1970. */
  deadline?: number;
}

interface Asks {
  suspend(options: object): Promise<unknown>;
}

/** Waits for the end of a task, and gives its answer. */
export async function parkOnAsk(ctx: Asks, { gateId, binding, message, deadline }: Asked): Promise<unknown> {
  const { board, taskId } = binding;
  let told: z.infer<typeof outcome>;
  try {
    const answer = await ctx.suspend({
      reason: 'ask',
      message: message ?? `Waiting for the answer to task "${taskId}"`,
      data: { board, taskId, gateId },
      allow: ['submit'],
      resumeSchema: outcome,
      ...(deadline === undefined ? {} : { timeoutMs: Math.max(1, deadline - Date.now()) }),
    });
    told = answer as z.infer<typeof outcome>;
  } catch (error) {
    if (!(error instanceof SuspensionTimeoutError)) throw error;
    throw new AskEndedError('wait_timed_out', `task "${taskId}" did not end in time`);
  }
  if (told.answered) return told.answer;
  if ('stopped' in told) throw new AskStoppedError();
  throw new AskEndedError(told.error.code, told.error.message);
}
