// Names of models: `provider/model`, `gateway/provider/model`, `intent/name`; and which providers there are keys for.

import { describeValue } from '../base/arguments';

export interface ParsedModelString {
  type: 'direct' | 'gateway' | 'intent' | 'preset';
  provider?: string;
  modelId?: string;
  gateway?: string;
  intentName?: string;
  presetName?: string;
}

export const INTENT_NAME_REGEX = /^[a-zA-Z][a-zA-Z0-9_-]*$/;

/** The parts of a name. `preset/name` is an older spelling of `intent/name`. */
export function parseModelString(name: string): ParsedModelString {
  if (typeof name !== 'string') throw new TypeError(`A model string is a text, got ${describeValue(name)}`);
  const text = name.trim();
  if (text === '') throw new Error('Model string cannot be empty.');
  const [first = '', second = '', third = '', ...more] = text.split('/');
  const isGroup = first === 'intent' || first === 'preset';
  if (isGroup && second !== '' && third === '') {
    if (!INTENT_NAME_REGEX.test(second)) {
      throw new Error(`Invalid intent name: "${second}". Intent names must match ${INTENT_NAME_REGEX.source}.`);
    }
    return first === 'intent' ? { type: 'intent', intentName: second } : { type: 'preset', presetName: second };
  }
  if (isGroup || more.length > 0 || first === '' || second === '') {
    const expected = isGroup ? `"${first}/name"` : '"provider/model" or "gateway/provider/model"';
    throw new Error(`Invalid model format: "${name}". Expected ${expected}, like "openai/gpt-5.4".`);
  }
  return third === ''
    ? { type: 'direct', provider: first, modelId: second }
    : { type: 'gateway', gateway: first, provider: second, modelId: third };
}

/** The provider of a name, `unknown` where it tells none. */
export function extractProviderName(name: string): string {
  try {
    return parseModelString(name).provider ?? 'unknown';
  } catch {
    return 'unknown';
  }
}

/** The names of preferred providers first, each group in its order. */
export function byPreference(names: readonly string[], preferred: readonly string[]): string[] {
  const rank = (name: string) => {
    const at = preferred.indexOf(extractProviderName(name));
    return at < 0 ? preferred.length : at;
  };
  return [...names].sort((one, two) => rank(one) - rank(two));
}

const KEYS: Record<string, string> = {
  anthropic: 'ANTHROPIC_API_KEY',
  openai: 'OPENAI_API_KEY',
  google: 'GOOGLE_GENERATIVE_AI_API_KEY',
};
const GATEWAY_KEYS: Record<string, string> = { vercel: 'AI_GATEWAY_API_KEY', openrouter: 'OPENROUTER_API_KEY' };

export interface ProviderAvailability {
  provider: string;
  source: 'key' | 'gateway';
  apiKey?: string;
  gatewayType?: string;
  gatewayName?: string;
}

type Env = Record<string, string | undefined>;

/** What a flow sees of the environment: nothing, unless its project gives it some. */
export function environment(): Env {
  return ((globalThis as { process?: { env?: Env } }).process?.env ?? {}) as Env;
}

/**
 * Which providers there are keys for: given ones, those of `env`, then those of gateways. The engine itself takes keys
 * from its own environment, which a flow cannot read (SEMANTICS §14).
 */
export function detectAvailableProviders(
  given: { keys?: Record<string, string | undefined>; gateways?: Record<string, unknown>; env?: Env } = {},
): Map<string, ProviderAvailability> {
  const env = given.env ?? environment();
  const found = new Map<string, ProviderAvailability>();
  for (const [provider, variable] of Object.entries(KEYS)) {
    const apiKey = given.keys?.[provider] ?? env[variable];
    if (apiKey) found.set(provider, { provider, source: 'key', apiKey });
  }
  const through = (gatewayType: string, gatewayName: string, apiKey: string | undefined) => {
    if (apiKey === undefined) return;
    for (const provider of Object.keys(KEYS)) {
      if (!found.has(provider)) found.set(provider, { provider, source: 'gateway', apiKey, gatewayType, gatewayName });
    }
  };
  for (const [name, gateway] of Object.entries(given.gateways ?? {})) {
    const { type, apiKey } = (gateway ?? {}) as { type?: string; apiKey?: string };
    if (typeof type === 'string') through(type, name, apiKey ?? env[GATEWAY_KEYS[type] ?? '']);
    else if (gateway !== null && gateway !== undefined) through(name, name, '');
  }
  for (const [type, variable] of Object.entries(GATEWAY_KEYS))
    through(type, `auto-${type}`, env[variable] || undefined);
  return found;
}
