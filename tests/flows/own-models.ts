// Models that are a flow's own code, models that a handler asks itself, and answers that are used again.
import { createToolCacheCapability, defineFlow, generator, handler, sequencer } from '@flow-state-dev/core';
import { z } from 'zod';

const search = handler({
  name: 'search',
  inputSchema: z.object({ q: z.string() }),
  execute: ({ q }) => `results for ${q}`,
});

// A model that answers step by step: the loop around it is the engine's, so its tools really run.
const stepping = generator({
  name: 'stepping',
  prompt: 'Look it up.',
  tools: [search],
  model: {
    modelId: 'steps',
    generateStep: async ({ stepNumber, messages }: any) =>
      stepNumber === 0
        ? { toolCalls: [{ toolCallId: 'one', toolName: 'search', args: { q: 'tea' } }] }
        : { text: JSON.stringify(messages.at(-1).content), usage: { promptTokens: 4, completionTokens: 2 } },
  },
});

// What a step leaves behind, told as the last step's answer.
const brief = handler({
  name: 'brief',
  inputSchema: z.object({}),
  outputSchema: z.object({ secret: z.string(), gist: z.string() }),
  execute: () => ({ secret: 's', gist: 'tea' }),
}).mapModelOutput((output: any) => `gist: ${output.gist}`);
const afterStep = (name: string, first: object, tools: any[] = []) =>
  generator({
    name,
    prompt: 'Look it up.',
    tools,
    model: {
      modelId: 'steps',
      generateStep: async ({ stepNumber, messages }: any) =>
        stepNumber === 0 ? { finishReason: 'tool-calls', ...first } : { text: JSON.stringify(messages.slice(1)) },
    },
  });
const thought = { type: 'reasoning', text: 'Tea.', providerOptions: { own: { signature: 'sig' } } };
const found = { type: 'tool-result', toolCallId: 'web', toolName: 'web', output: { type: 'json', value: [1] } };
const raw = afterStep(
  'raw',
  {
    text: 'one moment',
    toolCalls: [{ toolCallId: 'one', toolName: 'search', args: { q: 'tea' } }, { toolCallId: 'web', toolName: 'web', args: {}, providerExecuted: true }],
    responseMessages: [
      { role: 'assistant', content: [thought, { type: 'tool-call', toolCallId: 'one', toolName: 'search', input: { q: 'tea' } }] },
      { role: 'tool', content: [found] },
    ],
  },
  [search],
);
const built = afterStep('built', { toolCalls: [{ toolCallId: 'one', toolName: 'brief', args: {} }] }, [brief]);
const deferredTurn = { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'd', toolName: 'web', input: {} }] };
const deferred = afterStep('deferred', {
  toolCalls: [{ toolCallId: 'd', toolName: 'web', args: {}, providerExecuted: true }],
  responseMessages: [deferredTurn, { role: 'user', content: 'no part of a turn' }],
});

// A model that answers once: its tool calls are reported, not run.
const whole = generator({
  name: 'whole',
  prompt: 'Answer.',
  tools: [search],
  model: () => ({
    modelId: 'once',
    generate: async () => ({ text: 'done', toolCalls: [{ toolCallId: 'one', toolName: 'search', args: { q: 'x' } }] }),
  }),
});

const asking = handler({
  name: 'asking',
  execute: async (_input, ctx: any) => {
    const reply = await ctx.resolveModel('small').generate({ messages: [{ role: 'user', content: 'Hi' }] });
    return reply.text;
  },
});

const counted = handler({
  name: 'counted',
  cacheable: true,
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  sessionStateSchema: z.object({ ran: z.number().default(0) }),
  execute: async ({ a, b }, ctx) => {
    await ctx.session.incState({ ran: 1 });
    return a + b;
  },
});

const kept = createToolCacheCapability();

const calculating = generator({ name: 'calculating', model: 'small', prompt: 'Add.', tools: [counted], uses: [kept] });

const calculatingTwice = generator({ name: 'calculatingTwice', model: 'small', prompt: 'Add.', tools: [counted] });

// Nothing is kept where no block around has a cache.
const forgetful = generator({ name: 'forgetful', model: 'small', prompt: 'Add.', tools: [counted] });

const note = (what: string) => async (event: any, ctx: any) => { await ctx.session.pushState('log', [what, event.cached ?? false, event.output ?? null]); };
const rounded = handler({
  name: 'rounded',
  inputSchema: z.object({ n: z.number() }),
  cacheable: { keyFn: ({ n }) => { if (n < 0) throw new Error('below zero'); return String(Math.round(n)); }, cacheIf: (output, { n }) => output !== 1 && n < 9 },
  execute: ({ n }) => n,
});
const watched = generator({
  name: 'watched', model: 'small', prompt: 'Round.', tools: [rounded], uses: [kept],
  flowTools: { onToolStarted: note('started'), onToolCompleted: note('completed') },
});

// Models that stream. Where nobody may be watching they answer in one piece, if they can.
const never = async (): Promise<never> => { throw new Error('this one is not asked'); };
const streaming = generator({
  name: 'streaming',
  prompt: 'Say it.',
  agentType: 'primary',
  tools: [search],
  model: {
    modelId: 'streams',
    generate: never,
    generateStep: never,
    async *streamStep({ stepNumber }: any): AsyncGenerator<any, any, any> {
      yield { type: 'reasoning_delta', delta: 'I th' };
      yield { type: 'reasoning_delta', delta: 'ink' };
      if (stepNumber === 0) return yield { type: 'finish', fullResult: { toolCalls: [{ toolCallId: 'one', toolName: 'search', args: { q: 'tea' } }] } };
      yield { type: 'text_delta', delta: 'he' };
      // Pieces that come at once are one event.
      await new Promise((done) => setTimeout(done, 80));
      yield { type: 'text_delta', delta: 'llo' };
      yield { type: 'finish', fullResult: { text: 'hello', finishReason: 'stop', usage: { promptTokens: 1, completionTokens: 2 } } };
    },
  } as any,
});
const streamingNamed = generator({
  name: 'streamingNamed',
  prompt: 'Say it.',
  agentType: 'primary',
  tools: [search],
  model: {
    modelId: 'streams',
    async *streamStep({ stepNumber }: any): AsyncGenerator<any, any, any> {
      if (stepNumber === 0) {
        yield { type: 'reasoning_delta', reasoningDelta: 'I think' };
        yield { type: 'tool_call_delta', toolCallDelta: { toolCallId: 'one', toolName: 'search', argsDelta: '{"q":' } };
        yield { type: 'tool_call_delta', toolCallDelta: { toolCallId: 'one', toolName: 'search', argsDelta: '"tea"}' } };
        return yield { type: 'finish', finishReason: 'tool-calls', usage: { promptTokens: 3, completionTokens: 4 } };
      }
      yield { type: 'text_delta', textDelta: 'hel' };
      yield { type: 'text_delta', textDelta: 'lo' };
      yield { type: 'source_url', source: { url: 'https://tea.example', title: 'Tea' } };
    },
  } as any,
});
const brokenCall = generator({
  name: 'brokenCall',
  prompt: 'Say it.',
  agentType: 'primary',
  model: { modelId: 'one', async *streamStep() { yield { type: 'tool_call_delta', toolCallDelta: { toolCallId: 'c', toolName: 'search', argsDelta: '{"q' } }; } } as any,
});
const streamingWhole = generator({
  name: 'streamingWhole',
  prompt: 'Say it.',
  agentType: 'primary',
  model: { modelId: 'streams', generate: never, async *stream() { yield { type: 'text_delta', delta: 'one ' }; yield { type: 'text_delta', delta: 'two' }; } } as any,
});
const silent = generator({ name: 'silent', prompt: 'Say it.', model: { modelId: 'both', generate: async () => ({ text: 'whole' }), stream: never } as any });
const onlyStream = generator({ name: 'onlyStream', prompt: 'Say it.', model: { modelId: 'one', async *stream() { yield { type: 'finish', fullResult: { text: 'from finish' } }; } } });
const noChunks = generator({ name: 'noChunks', prompt: 'Say it.', agentType: 'primary', model: { modelId: 'one', stream: () => 7 } as any });

/** A model whose server answers so. */
const failing = (name: string, more: object) => generator({
  name,
  prompt: 'p',
  retry: { maxAttempts: 2, baseDelayMs: 1 },
  model: { modelId: 'raw', generate: async () => { attempts += 1; throw Object.assign(new Error(`${name} said no`), more); } },
}).rescue([{ block: handler({ name: 'sees', execute: (error: any) => ({ is: [error.name, error.code, error.retryable], attempts, status: error.details?.status, cause: error.cause?.message }) }) }]);
let attempts = 0;

const told = handler({
  name: 'told',
  execute: (input, ctx: any) => ({ input, usage: ctx.request.tokenUsage }),
});

const listening = generator({
  name: 'listening',
  prompt: 'Answer.',
  model: (_input: unknown, ctx: any) => ({ modelId: 'listening', generate: async ({ signal }) => ({ text: `${signal === ctx.signal} ${signal.aborted}` }) }),
});

const routed = generator({
  name: 'routed',
  prompt: 'Answer.',
  itemVisibility: { client: true, history: true },
  model: { modelId: 'router', generate: async () => ({ text: 'done', resolvedIdentity: { actual: 'small' } }) },
});
const routedStream = generator({
  name: 'routedStream',
  prompt: 'Answer.',
  itemVisibility: { client: true, history: true },
  model: { modelId: 'router', stream: async function* () { yield { type: 'text_delta', delta: 'done', resolvedIdentity: { actual: 'small' } }; } } as any,
});

export default defineFlow({
  kind: 'own-models',
  actions: {
    stepping: { block: sequencer({ name: 'stepping-then-told' }).step(stepping).step(told) },
    raw: { block: raw },
    built: { block: built },
    deferred: { block: deferred },
    whole: { block: whole },
    listening: { block: listening },
    routed: { block: routed },
    routedStream: { block: routedStream },
    asking: { block: asking },
    askingForTools: { block: handler({ name: 'askingForTools', execute: async (_input, ctx: any) => (await ctx.resolveModel('small').generate({ messages: [] })).toolCalls }) },
    calculating: { block: calculating },
    calculatingTwice: { block: sequencer({ name: 'around', inputSchema: z.any(), uses: [kept] }).step(calculatingTwice) },
    forgetful: { block: forgetful },
    watched: { block: watched },
    streaming: { block: streaming },
    streamingWhole: { block: streamingWhole },
    streamingNamed: { block: sequencer({ name: 'named-then-told', inputSchema: z.any() }).step(streamingNamed).step(told) },
    brokenCall: { block: brokenCall },
    silent: { block: silent },
    onlyStream: { block: onlyStream },
    noChunks: { block: noChunks },
    tooMany: { block: failing('tooMany', { status: 429 }) },
    overloaded: { block: failing('overloaded', { statusCode: 503 }) },
    forbidden: { block: failing('forbidden', { status: 401 }) },
    unreachable: { block: failing('unreachable', { code: 'ECONNREFUSED' }) },
    mistaken: { block: failing('mistaken', {}) },
  },
});
