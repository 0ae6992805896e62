// Loops, lists, retries, failures that are caught, a pause in which nothing runs and a question at the end, of about as many
// blocks as are asked for, for the page's recorded host.
import { defineFlow, FlowError, handler, sequencer } from '@flow-state-dev/core';
import { z } from 'zod';

const TOOLS = ['fetch-page', 'read-notes', 'search-library', 'check-quote'];
const runState = z.object({ turn: z.number().default(0), turns: z.number().default(0) });

const plan = handler({
  name: 'plan',
  inputSchema: z.object({ turns: z.number().int().min(1).default(12) }),
  sequencerStateSchema: runState,
  execute: async ({ turns }, ctx) => {
    await ctx.sequencer.patchState({ turns });
  },
});

/** In one turn it fails and is tried again: the pause before that is a time in which nothing runs. */
const tool = (name) =>
  handler({
    name,
    retry: { maxAttempts: 2, baseDelayMs: 1500 },
    execute: async (_input, ctx) => {
      if (ctx.sequencer.state.turn % 9 === 4 && ctx.attempt === 0)
        throw new FlowError('No answer.', { code: 'timeout', retryable: true });
      return 'found';
    },
    sequencerStateSchema: runState,
  });

/** Computes for about a millisecond: in an overview the sources of a turn stand beside each other. */
const source = handler({
  name: 'source',
  sequencerStateSchema: runState,
  execute: async (number, ctx) => {
    let sum = 0;
    for (let n = 0; n < 20_000; n++) sum = (sum + n * number) % 65_521;
    if (ctx.sequencer.state.turn % 7 === 3 && number % 10 === 9) throw new FlowError(`Source ${number} is gone.`);
    return number;
  },
});

const record = handler({
  name: 'record',
  sequencerStateSchema: runState,
  sessionStateSchema: z.object({ records: z.number().default(0) }),
  execute: async (_input, ctx) => {
    const { turn } = ctx.sequencer.state;
    await ctx.session.patchState({ records: turn });
    await ctx.sequencer.incState({ turn: 1 });
  },
});

const oneAngle = sequencer({ name: 'one-angle', inputSchema: z.any() })
  .branch(
    Object.fromEntries(
      TOOLS.map((name, n) => [name, [(value) => value, (_, ctx) => ctx.sequencer.state.turn % 4 === n, tool(name)]]),
    ),
  )
  .map(() => Array.from({ length: 22 }, (_, n) => n))
  .forEachBackground(source, { concurrency: 1 })
  .waitForWork()
  .tap(record);

const notes = handler({ name: 'notes', execute: () => 'kept' });

const approve = handler({
  name: 'approve',
  execute: async (_input, ctx) => ctx.suspend({ reason: 'approval', message: 'Publish it?' }),
});

export default defineFlow({
  kind: 'stress',
  actions: {
    run: {
      description: 'Do many small parts, to see how the window copes.',
      block: sequencer({ name: 'research-pipeline', inputSchema: z.any(), stateSchema: runState })
        .tap(plan)
        .doUntil((_value, ctx) => ctx.sequencer.state.turn >= ctx.sequencer.state.turns, oneAngle)
        .step(notes)
        .step(approve),
    },
  },
});
