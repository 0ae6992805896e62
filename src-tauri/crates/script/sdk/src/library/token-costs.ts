// How many tokens a text has, about, and what they cost. The table goes by parts of a model's name: the first that fits
// counts.

interface Pricing {
  promptPer1M: number;
  completionPer1M: number;
  cacheReadPer1M?: number;
  cacheCreationPer1M?: number;
}

export interface ModelLookupEntry {
  keyword: string;
  charsPerToken: number;
  pricing?: Pricing;
}

const row = (keyword: string, charsPerToken: number, prompt?: number, completion?: number): ModelLookupEntry =>
  prompt === undefined
    ? { keyword, charsPerToken }
    : { keyword, charsPerToken, pricing: { promptPer1M: prompt, completionPer1M: completion as number } };

/** Dollars for a million tokens. Prices change: give a table of your own where they matter. */
export const DEFAULT_MODEL_LOOKUP: ModelLookupEntry[] = [
  row('claude-opus-4-6', 4, 15, 75),
  row('claude-opus-4', 4, 15, 75),
  row('claude-sonnet-4-6', 4, 3, 15),
  row('claude-sonnet-4-5', 4, 3, 15),
  row('claude-sonnet-4', 4, 3, 15),
  row('claude-haiku-4-5', 4, 0.8, 4),
  row('claude-haiku-4', 4, 0.8, 4),
  row('claude', 4),
  row('gpt-5.4-mini', 3.5, 0.2, 0.8),
  row('gpt-5.4-nano', 3.5, 0.05, 0.2),
  row('gpt-5.4', 3.5, 1, 4),
  row('preset/fast', 3.5, 0.25, 2),
  row('gpt-5-mini', 3.5, 0.25, 2),
  row('gpt-5-nano', 3.5, 0.05, 0.4),
  row('gpt-5', 3.5, 1.25, 10),
  row('gpt-4.1-mini', 3.5, 0.4, 1.6),
  row('gpt-4.1-nano', 3.5, 0.1, 0.4),
  row('gpt-4.1', 3.5, 2, 8),
  row('gemini-3.1-flash-lite', 3.8, 0.02, 0.08),
  row('gemini-3.1-pro', 3.8, 1.25, 10),
  row('gemini-3-flash', 3.8, 0.1, 0.4),
  row('gemini-2.0-flash', 3.8, 0.1, 0.4),
  row('gemini', 3.8),
  row('llama', 3.9),
];

const USUAL_CHARS_PER_TOKEN = 4;
/** Of the price of a prompt, where a table does not say. */
const CACHE_READ = 0.1;
const CACHE_CREATION = 1.25;
const MILLION = 1_000_000;

export function findModelEntry(model: string, lookup = DEFAULT_MODEL_LOOKUP): ModelLookupEntry | undefined {
  return lookup.find(({ keyword }) => model.includes(keyword));
}

/** For `costEstimator` of a flow. A model without a price costs nothing. */
export function modelPricingEstimator(lookup = DEFAULT_MODEL_LOOKUP) {
  return {
    estimate(usage: Record<string, number | undefined>, model: string): number {
      const pricing = findModelEntry(model, lookup)?.pricing;
      if (!pricing) return 0;
      const { promptPer1M, completionPer1M } = pricing;
      const [read, created] = [usage.cacheReadTokens ?? 0, usage.cacheCreationTokens ?? 0];
      const plain = Math.max(0, (usage.prompt ?? usage.promptTokens ?? 0) - read - created);
      const parts = [
        plain * promptPer1M,
        (usage.completion ?? usage.completionTokens ?? 0) * completionPer1M,
        read * (pricing.cacheReadPer1M ?? promptPer1M * CACHE_READ),
        created * (pricing.cacheCreationPer1M ?? promptPer1M * CACHE_CREATION),
      ];
      return parts.reduce((sum, part) => sum + part, 0) / MILLION;
    },
  };
}

interface Message {
  content: unknown;
}

/** For `tokenCounter` of a flow: the letters of a text by those of a token. */
export function createEstimateTokenCounter(lookup = DEFAULT_MODEL_LOOKUP) {
  const tokens = (letters: number, model: string) =>
    Math.ceil(letters / (findModelEntry(model, lookup)?.charsPerToken ?? USUAL_CHARS_PER_TOKEN));
  return {
    count: async (text: string, model: string): Promise<number> => tokens(text.length, model),
    countMessages: async (messages: readonly Message[], model: string): Promise<number> =>
      tokens(
        messages.reduce((sum, { content }) => sum + (JSON.stringify(content) ?? '').length, 0),
        model,
      ),
  };
}

export const estimateTokenCounter = createEstimateTokenCounter();

interface Encoder {
  encode(text: string): { length: number };
}

/** The same by a tokenizer that the flow brings along: an npm package like `tiktoken` without WebAssembly. */
export function createTiktokenCounter(tiktoken: {
  encoding_for_model(model: string): Encoder;
  get_encoding(name: string): Encoder;
}) {
  const encoders = new Map<string, Encoder>();
  const encoderOf = (model: string): Encoder => {
    let encoder = encoders.get(model);
    if (encoder) return encoder;
    try {
      encoder = tiktoken.encoding_for_model(model);
    } catch {
      encoder = tiktoken.get_encoding('cl100k_base');
    }
    encoders.set(model, encoder);
    return encoder;
  };
  return {
    count: async (text: string, model: string): Promise<number> => encoderOf(model).encode(text).length,
    countMessages: async (messages: readonly Message[], model: string): Promise<number> =>
      messages.reduce((sum, { content }) => sum + encoderOf(model).encode(JSON.stringify(content) ?? '').length, 0),
  };
}
