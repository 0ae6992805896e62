// A model call for a generator of a recording: made up from what the block got, gave and emitted, so that the screens
// that show calls can be tried.
import type { BlockRow, Item, Json, ModelCallRow } from './host';

const WORDS_MS = 40;

export function callsOf(block: BlockRow, input: Json, output: Json, items: readonly Item[]): ModelCallRow[] {
  if (block.kind !== 'generator') return [];
  const said = items.find((item) => item.type === 'message');
  const parts = Array.isArray(said?.content) ? (said.content as { text?: string }[]) : [];
  const text = parts.map((part) => part.text ?? '').join('') || (typeof output === 'string' ? output : '');
  const isOver = block.durationMs != null;
  const tokens = { input: 300 + (block.seqStart % 700), output: 60, cached: 240 };
  const pieces = text.match(/\S+\s*/g) ?? [];
  return [
    {
      seq: block.seqStart + 1,
      effect: 'model',
      ordinal: 0,
      startedAt: block.startedAt,
      durationMs: block.durationMs,
      memoized: block.memoized,
      model: 'gpt-5-mini',
      answeredBy: isOver ? 'gpt-5-mini-2025-08-07' : null,
      parameters: { step: 0, maxTokens: 400 },
      sources: [{ from: 'system' }, { from: 'history', requestId: 'req-1', seq: 4 }, { from: 'user' }],
      request: {
        model: 'gpt-5-mini',
        step: 0,
        maxTokens: 400,
        messages: [
          { role: 'system', content: `You are ${block.name}. Answer in a few sentences.` },
          { role: 'user', content: 'How do I read a run?' },
          { role: 'user', content: typeof input === 'string' ? input : JSON.stringify(input ?? null) },
        ],
      },
      result: isOver ? { text, finishReason: 'stop' } : null,
      tools: [],
      streamed: pieces.map((piece, n) => ({ ms: (n + 1) * WORDS_MS, text: piece, reasoning: false })),
      tokens: isOver ? tokens : null,
      cost: isOver ? (tokens.input * 0.25 + tokens.output * 2) / 1e6 : null,
      firstTokenMs: WORDS_MS,
      finishReason: isOver ? 'stop' : null,
      retries: [],
    },
  ];
}
