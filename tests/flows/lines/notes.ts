/** Notes on a delivery are printed on its label as JSON; who has none gets an empty one. */
import { defineFlow, handler } from '@flow-state-dev/core';
import { z } from 'zod';

const delivery = z.object({ to: z.string(), note: z.string().optional() });

const label = handler({
  name: 'label',
  inputSchema: delivery,
  outputSchema: z.string(),
  execute: ({ to, note }) => {
    const written = JSON.stringify(note);
    return `To ${to}, note ${written}`;
  },
});

export default defineFlow({ kind: 'notes', actions: { label: { inputSchema: delivery, block: label } } });
