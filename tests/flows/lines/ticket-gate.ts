/** The gate of a cinema: a group may enter if each of them is old enough for the film. */
import { defineFlow, handler } from '@flow-state-dev/core';
import { z } from 'zod';

const group = z.object({ from: z.number(), ages: z.array(z.number()) });

function mayEnter(from: number, ages: number[]): boolean {
  for (const age of ages) {
    if (age >= from) return true;
  }
  return false;
}

const gate = handler({
  name: 'gate',
  inputSchema: group,
  outputSchema: z.string(),
  execute: ({ from, ages }) => (mayEnter(from, ages) ? 'Enjoy the film.' : 'Sorry, not this film.'),
});

export default defineFlow({ kind: 'ticket-gate', actions: { enter: { inputSchema: group, block: gate } } });
