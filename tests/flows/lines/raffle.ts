/** A raffle by points: who has most wins. */
import { defineFlow, handler } from '@flow-state-dev/core';
import { z } from 'zod';

const players = z.array(z.object({ name: z.string(), points: z.number() })).min(1);

const draw = handler({
  name: 'draw',
  inputSchema: players,
  outputSchema: z.string(),
  execute: (given) => {
    const ranked = given.toSorted((one, other) => other.points - one.points);
    const most = Math.max(...given.map((player) => player.points));
    const at = given.findIndex((player) => player.points === most);
    const winner = ranked[at];
    return winner?.name ?? 'nobody';
  },
});

export default defineFlow({ kind: 'raffle', actions: { draw: { inputSchema: players, block: draw } } });
