// `createFallbackModel`: several of an author's own models as one, each tried until one answers.

import { describeValue } from '../base/arguments';
import { deepMerge } from './plain-values';

type Options = Record<string, unknown>;
interface Model {
  modelId: string;
  generate(options: Options, ctx?: unknown): unknown;
  stream?(options: Options, ctx?: unknown): AsyncIterable<unknown>;
  generateStep?(options: Options, ctx?: unknown): unknown;
  resolveSearchTool?(config: unknown): unknown;
}
interface Entry {
  model: Model;
  modelId: string;
  providerName?: string;
}
interface Config {
  groupName: string;
  models: Entry[];
  defaults?: { maxTokens?: number; providerOptions?: Record<string, Options> };
  retryPolicy?: { maxAttemptsPerModel?: number; baseDelayMs?: number; maxDelayMs?: number };
}

const RETRYABLE = [429, 500, 502, 503];

/** Whether asking the same model again may help. */
export function isRetryableError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { isRetryable, retryable, statusCode } = error as Error & Record<string, unknown>;
  if (typeof isRetryable === 'boolean') return isRetryable;
  if (/^(AI_)?LoadAPIKeyError$/.test(error.constructor.name)) return false;
  if (statusCode !== undefined) return RETRYABLE.includes(statusCode as number);
  if (retryable === true) return true;
  return /fetch failed|ECONNREFUSED|ETIMEDOUT/.test(error.message);
}

export function createFallbackModel(config: Config) {
  const { groupName, models, defaults, retryPolicy = {} } = config;
  if (models.length === 0) throw new Error(`Model group "${groupName}" has no available models.`);
  const { maxAttemptsPerModel = 2, baseDelayMs = 1000, maxDelayMs = 10_000 } = retryPolicy;
  if (!Number.isInteger(maxAttemptsPerModel) || maxAttemptsPerModel < 1) {
    throw new TypeError(
      `Model group "${groupName}": retryPolicy.maxAttemptsPerModel must be an integer of at least 1, got ${describeValue(maxAttemptsPerModel)}`,
    );
  }

  const withDefaults = (options: Options, { providerName = '' }: Entry): Options => {
    const own = defaults?.providerOptions?.[providerName];
    const merged: Options = { ...options, maxTokens: options.maxTokens ?? defaults?.maxTokens };
    if (own) merged.providerOptions = deepMerge({ [providerName]: own }, (options.providerOptions ?? {}) as Options);
    return merged;
  };
  const failed = (failures: string[]) =>
    new Error(`All models in group "${groupName}" failed:\n${failures.join('\n')}`);

  const ask = async (method: 'generate' | 'generateStep', options: Options, ctx: unknown): Promise<unknown> => {
    const failures: string[] = [];
    for (const entry of models) {
      for (let attempt = 1; attempt <= maxAttemptsPerModel; attempt++) {
        try {
          return await (entry.model[method] as Model['generate'])(withDefaults(options, entry), ctx);
        } catch (error) {
          failures.push(`  ${entry.modelId}: ${(error as Error)?.message ?? String(error)}`);
          if (!isRetryableError(error)) break;
          if (attempt === maxAttemptsPerModel) break;
          const pause = Math.min(baseDelayMs * 2 ** (attempt - 1), maxDelayMs);
          await new Promise<void>((resolve) => setTimeout(() => resolve(), pause));
        }
      }
    }
    throw failed(failures);
  };

  /** Once a model has said something, its failure is that of the whole. */
  async function* stream(options: Options, ctx?: unknown): AsyncGenerator<unknown> {
    const failures: string[] = [];
    for (const entry of models) {
      if (!entry.model.stream) continue;
      let hasSpoken = false;
      try {
        for await (const chunk of entry.model.stream(withDefaults(options, entry), ctx)) {
          hasSpoken = true;
          yield chunk;
        }
        return;
      } catch (error) {
        if (hasSpoken || !isRetryableError(error)) throw error;
        failures.push(`  ${entry.modelId}: ${(error as Error).message}`);
      }
    }
    throw failed(failures);
  }

  const all = (method: 'generateStep' | 'stream') => models.every(({ model }) => typeof model[method] === 'function');
  return {
    modelId: `fsd:${groupName}`,
    generate: (options: Options, ctx?: unknown) => ask('generate', options, ctx),
    generateStep: all('generateStep')
      ? (options: Options, ctx?: unknown) => ask('generateStep', options, ctx)
      : undefined,
    stream: all('stream') ? stream : undefined,
    resolveSearchTool: (search: unknown): unknown => {
      for (const { model } of models) {
        const tool = model.resolveSearchTool?.(search);
        if (tool) return tool;
      }
      return undefined;
    },
  };
}
