/** The three best scores of a game, best first. */
import { defineFlow, handler } from '@flow-state-dev/core';
import { z } from 'zod';

const scores = z.array(z.number());

const best = handler({
  name: 'best',
  inputSchema: scores,
  outputSchema: scores,
  execute: (given) => {
    const rising = [...given].sort();
    const falling = rising.reverse();
    return falling.slice(0, 3);
  },
});

export default defineFlow({ kind: 'leaderboard', actions: { best: { inputSchema: scores, block: best } } });
