/** A bridge: lorries above its limit are sent back. Weights come from a form, in tons. */
import { defineFlow, handler } from '@flow-state-dev/core';
import { z } from 'zod';

const form = z.object({ tons: z.string(), limit: z.string() });

const toll = handler({
  name: 'toll',
  inputSchema: form,
  outputSchema: z.string(),
  execute: ({ tons, limit }) => {
    if (tons > limit) return 'Please turn around.';
    return 'You may pass.';
  },
});

export default defineFlow({ kind: 'tolls', actions: { toll: { inputSchema: form, block: toll } } });
