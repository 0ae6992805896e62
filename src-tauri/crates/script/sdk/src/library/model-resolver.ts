// `createModelResolver` and `createFSDProvider`: groups of models by name. The engine itself resolves each name
// (SEMANTICS §6.2), so what they give is a list of names, in the order in which they are tried.

import { describeValue } from '../base/arguments';
import { warn } from '../define/known-keys';
import { NamedModel } from '../define/own-models';
import { byPreference, environment, extractProviderName, INTENT_NAME_REGEX, parseModelString } from './model-names';

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

/** The name of one model, whose place an error tells. Without a provider it may be a name of flowglass.json. */
function needConcrete(name: unknown, where: string): string {
  if (typeof name !== 'string' || name.trim() === '') {
    throw new Error(`${WHO}: ${where} must be the name of a model, got ${describeValue(name)}`);
  }
  return name.includes('/') ? needModelString(name, where) : name.trim();
}

/** The name of one model with its provider. */
function needModelString(name: string, where: string): string {
  let type: string;
  try {
    ({ type } = parseModelString(name));
  } catch (error) {
    throw new Error(`${WHO}: ${where}: ${(error as Error).message}`, { cause: error });
  }
  if (type === 'intent' || type === 'preset') {
    throw new Error(`${WHO}: ${where} must not be an ${type}/* string, got ${describeValue(name)}`);
  }
  return name.trim();
}

/** Refuses intents that nobody could name, or that lead nowhere. */
function checkIntents(intents: ReadonlyMap<string, string[]>, defaults: object): void {
  for (const [intent, models] of intents) {
    if (!INTENT_NAME_REGEX.test(intent)) {
      throw new Error(`${WHO}: intent "${intent}" has an invalid name; it must match ${INTENT_NAME_REGEX.source}`);
    }
    for (const model of models) needConcrete(model, `intent "${intent}"`);
  }
  const unknown = Object.keys(defaults).find((intent) => !intents.has(intent));
  if (unknown === undefined) return;
  const known = [...intents.keys()].join(', ') || '(none)';
  throw new Error(`${WHO}: intentDefaults has "${unknown}", which is no intent of it; the intents are ${known}`);
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
  checkIntents(intents, options.intentDefaults ?? {});
  const given = options.defaultModel === undefined ? undefined : needConcrete(options.defaultModel, 'defaultModel');
  const other = env.FSDEV_DEFAULT_MODEL;
  const defaultModel = other === undefined ? given : needModelString(other, 'FSDEV_DEFAULT_MODEL');
  const variables = new Map<string, string>();
  for (const intent of intents.keys()) {
    const variable = variableOf(intent);
    const same = variables.get(variable);
    if (same !== undefined) throw new Error(`${WHO}: intents "${same}" and "${intent}" are both named ${variable}`);
    variables.set(variable, intent);
    const instead = env[variable];
    if (instead !== undefined) intents.set(intent, [needModelString(instead, variable)]);
  }
  for (const variable of Object.keys(env)) {
    if (!variable.startsWith('FSDEV_INTENT_') || variables.has(variable)) continue;
    const known = [...intents.keys()].join(', ') || '(none)';
    warn(`${WHO}: ${variable} changes nothing: it names none of the intents, which are ${known}`);
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
