// What is known of a dispatch besides the block that sends it.

import { z } from 'zod';

/** What a dispatcher gives: where the work runs. */
export const dispatchHandleSchema = z.object({
  sessionId: z.string(),
  requestId: z.string(),
  adopted: z.boolean(),
});

/** By what an entry is reached. */
export const DISPATCH_TYPES = ['public', 'internal', 'task', 'chat', 'webhook', 'schedule'] as const;

/** A line that begins with a command, like `/help me`: its name and what follows. */
export const SLASH_COMMAND_PATTERN = /^\s*\/([a-z\d][a-z\d-]{0,63})(?:\s+([^]*))?$/;
