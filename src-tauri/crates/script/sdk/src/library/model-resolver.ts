// `createModelResolver` and `createFSDProvider`: groups of models by name. The engine itself resolves each name
// (SEMANTICS §6.2), so what they give is a list of names, in the order in which they are tried.

import { warn } from '../define/known-keys';
import { NamedModel } from '../define/own-models';
import { byPreference, environment, extractProviderName, parseModelString } from './model-names';

type Env = Record<string, string | undefined>;

export interface ResolverOptions {
  defaultModel?: string;
  intents?: Record<string, string[]>;
  presets?: Record<string, { models: string[] }>;
  intentDefaults?: Record<string, unknown>;
  keys?: unknown;
  gateways?: unknown;
  providers?: unknown;
  retryPolicy?: unknown;
  env?: Env;
}

const WHO = 'createModelResolver';

/** Options that the engine has in other places. */
const ELSEWHERE: [keyof ResolverOptions, string][] = [
  ['keys', 'keys come from the environment variable that flowglass.json names'],
  ['gateways', 'a gateway is a "baseUrl" in flowglass.json'],
  ['providers', 'a provider is named in flowglass.json'],
  ['retryPolicy', 'each model of a list is tried twice'],
  ['intentDefaults', 'a generator takes providerOptions itself'],
];

function needConcrete(name: string, where: string): string {
  const { type } = parseModelString(name);
  if (type === 'intent' || type === 'preset') throw new Error(`${WHO}: ${where} must not be an ${type}/* string`);
  return name;
}

/** The variable that replaces an intent's models. */
const variableOf = (intent: string): string => `FSDEV_INTENT_${intent.toUpperCase().replace(/-/g, '_')}`;

export function createModelResolver(options: ResolverOptions = {}) {
  const env = options.env ?? environment();
  const intents = new Map(Object.entries(options.intents ?? {}));
  const presets = options.presets ?? {};
  if (intents.size > 0 && options.defaultModel === undefined) {
    throw new Error(`${WHO}: defaultModel is required when intents are configured`);
  }
  const given = env.FSDEV_DEFAULT_MODEL ?? options.defaultModel;
  const defaultModel = given === undefined ? undefined : needConcrete(given, 'defaultModel');
  const variables = new Map<string, string>();
  for (const intent of intents.keys()) {
    const variable = variableOf(intent);
    const other = variables.get(variable);
    if (other !== undefined) throw new Error(`${WHO}: intents "${other}" and "${intent}" are both named ${variable}`);
    variables.set(variable, intent);
    const instead = env[variable];
    if (instead !== undefined) intents.set(intent, [needConcrete(instead, variable)]);
  }
  for (const [name, instead] of ELSEWHERE) {
    if (options[name] !== undefined) warn(`${WHO}: "${name}" changes nothing here; ${instead}`);
  }
  const namesOf = (modelId: string): string[] => {
    const { type, intentName = '', presetName = '' } = parseModelString(modelId);
    if (type === 'preset') return presets[presetName]?.models ?? [modelId];
    if (type !== 'intent') return [modelId];
    const models = intents.get(intentName) ?? [];
    // flowglass.json may know the intent's name itself.
    if (models.length === 0) return defaultModel === undefined ? [modelId] : [defaultModel];
    return defaultModel === undefined || models.includes(defaultModel) ? models : [...models, defaultModel];
  };
  const resolve = (modelId: string, _block?: string, { preferProvider }: { preferProvider?: string | string[] } = {}) =>
    new NamedModel(modelId, byPreference(namesOf(modelId), [preferProvider ?? []].flat()));
  return Object.assign(resolve, {
    resolveId: (modelId: string): string => namesOf(modelId)[0] as string,
    explain: (modelId: string) => ({
      requested: modelId,
      candidates: namesOf(modelId).map((model) => ({ model, provider: extractProviderName(model), available: true })),
    }),
  });
}

interface Group {
  models: string[];
  defaults?: unknown;
}

export const defaultGroups: Record<string, Group> = {
  fast: { models: ['anthropic/claude-sonnet-4-6', 'openai/gpt-5.4-mini', 'google/gemini-3-flash'] },
  thinking: { models: ['anthropic/claude-opus-4-6', 'openai/gpt-5.4', 'google/gemini-3.1-pro-preview'] },
  balanced: { models: ['anthropic/claude-sonnet-4-6', 'openai/gpt-5.4', 'google/gemini-3-flash'] },
};

/** The lists behind `preset/name`, an older form of intents. */
export const DEFAULT_PRESETS: Record<string, Group> = {
  fast: { models: ['openai/gpt-5.4-mini', 'anthropic/claude-haiku-4.5', 'google/gemini-3-flash'] },
  tiny: { models: ['openai/gpt-5.4-nano', 'google/gemini-3.1-flash-lite-preview'] },
  small: { models: ['openai/gpt-5.4-mini', 'anthropic/claude-haiku-4.5', 'google/gemini-3-flash'] },
  medium: { models: ['openai/gpt-5.4', 'anthropic/claude-sonnet-4.6', 'google/gemini-2.5-pro'] },
  large: { models: ['anthropic/claude-opus-4.7', 'openai/gpt-5.4', 'google/gemini-3.1-pro-preview'] },
};

export function createFSDProvider(config: { groups: Record<string, Group>; [other: string]: unknown }) {
  const { groups, ...others } = config;
  for (const [name, group] of Object.entries(groups)) {
    if (group.defaults !== undefined)
      warn(`createFSDProvider: "defaults" of "${name}" change nothing here; a generator takes maxTokens itself`);
  }
  for (const name of Object.keys(others))
    warn(`createFSDProvider: "${name}" changes nothing here; models stand in flowglass.json`);
  const groupOf = (name: string): Group => {
    const group = groups[name];
    if (group) return group;
    throw new Error(`Unknown model group "${name}". Available groups: ${Object.keys(groups).join(', ')}`);
  };
  const provide = (name: string, { preferProvider }: { preferProvider?: string | string[] } = {}) =>
    new NamedModel(`fsd:${name}`, byPreference(groupOf(name).models, [preferProvider ?? []].flat()));
  return Object.assign(provide, {
    languageModel: provide,
    groups: () => Object.keys(groups),
    available: (name: string) => groups[name]?.models ?? [],
  });
}
