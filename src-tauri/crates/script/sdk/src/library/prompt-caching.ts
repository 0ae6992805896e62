// `applyCaching`: marks for providers that keep the beginning of a prompt. For an author's own model; the engine's
// providers decide for themselves.

type Fields = Record<string, unknown>;
interface CachingConfig {
  enabled?: boolean;
  breakpoints?: 'auto' | 'manual';
  ttl?: '5m' | '1h';
}

export const DEFAULT_CACHING_CONFIG = { enabled: true, breakpoints: 'auto', ttl: '5m' } as const;

/** A shorter beginning is not kept by a provider, about 1024 tokens of four letters. */
const LEAST_LETTERS = 4 * 1024;

export function resolveEffectiveCaching(config: CachingConfig | undefined) {
  const given = Object.entries(config ?? {}).filter(([, value]) => value !== undefined);
  return { ...DEFAULT_CACHING_CONFIG, ...Object.fromEntries(given) } as Required<CachingConfig>;
}

function fields(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

function lettersOf(content: unknown): number {
  if (typeof content === 'string') return content.length;
  const parts = Array.isArray(content) ? content : [];
  return parts.reduce((sum: number, part) => sum + String(fields(part)?.text ?? '').length, 0);
}

function toolLetters(tools: unknown): number {
  return Object.values(fields(tools) ?? {}).reduce((sum: number, tool) => {
    try {
      return sum + JSON.stringify(tool).length;
    } catch {
      return sum + String(fields(tool)?.description ?? '').length;
    }
  }, 0);
}

/** Changes the request in place; marks that an author has set stay. */
export function applyCaching(request: Fields, config: CachingConfig | undefined, languageModel: unknown): void {
  const { enabled, breakpoints, ttl } = resolveEffectiveCaching(config);
  if (!enabled || breakpoints === 'manual') return;
  const provider = String(fields(languageModel)?.provider ?? '')
    .split('.')[0]
    ?.toLowerCase();
  const options = fields(request.providerOptions) ?? {};
  if (provider === 'gateway') {
    request.providerOptions = { ...options, gateway: { caching: 'auto', ...fields(options.gateway) } };
    return;
  }
  if (provider !== 'anthropic' && provider !== 'openrouter') return;
  const messages = (Array.isArray(request.messages) ? request.messages : []).map(fields);
  const system = messages.filter((message): message is Fields => message?.role === 'system');
  const letters = system.reduce((sum, message) => sum + lettersOf(message.content), toolLetters(request.tools));
  const last = system.at(-1);
  if (!last || letters < LEAST_LETTERS) return;
  const own = fields(last.providerOptions) ?? {};
  const anthropic = fields(own.anthropic) ?? {};
  if ('cacheControl' in anthropic || 'cache_control' in anthropic) return;
  last.providerOptions = { ...own, anthropic: { ...anthropic, cacheControl: { type: 'ephemeral', ttl } } };
}
