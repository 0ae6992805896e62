// A conversation of one message, for the page's recorded host: a router, a model's reply that is streamed, and state of
// every scope.
import { defineFlow, generator, handler, router, sequencer } from '@flow-state-dev/core';
import { z } from 'zod';

const answer = generator({
  name: 'answer',
  model: 'gpt-5-mini',
  agentType: 'primary',
  prompt: 'Answer briefly.',
  history: true,
  user: (input) => `The question: ${input}`,
});

const classify = router({ name: 'classify', routes: [answer], execute: () => answer });

const remember = handler({
  name: 'remember',
  sessionStateSchema: z.object({ turns: z.number().default(0), title: z.string().optional() }),
  userStateSchema: z.object({ lastAnswer: z.string().optional() }),
  sequencerStateSchema: z.object({ draft: z.string().default('') }),
  execute: async (input, ctx) => {
    await ctx.sequencer.patchState({ draft: input });
    await ctx.session.incState({ turns: 1 });
    await ctx.session.patchState({ title: 'How to read a run' });
    await ctx.user.patchState({ lastAnswer: input });
    console.log('Kept the question for next time.');
    return { saved: true };
  },
});

export default defineFlow({
  kind: 'chat',
  actions: {
    send: {
      description: 'Answer one message of a conversation.',
      inputSchema: z.string().min(1).describe('What the person says.'),
      userMessage: (input) => input,
      block: sequencer({
        name: 'chat',
        inputSchema: z.string(),
        stateSchema: z.object({ draft: z.string().default('') }),
      })
        .step(classify)
        .step(remember),
    },
  },
});
