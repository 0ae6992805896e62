// `defineModel`: the models that prompts of a project name.
//
// If "models" in flowglass.json has an entry for a name, that entry is used; otherwise the provider's model that is
// defined here. Must not: ask a model, or know which providers there are.

import { describeValue } from '../base/arguments';
import { warnOfOthers } from './agent-keys';
import type { Config } from './blocks';

/** A model by the name that prompts use. */
export class Model {
  constructor(
    readonly name: string,
    /** `provider/model`; nothing where the provider has no name. */
    readonly standsFor: string | undefined,
    /** The models to try after it. */
    readonly fallbacks: readonly string[],
  ) {}
}

const models = new Map<string, Model>();

export const isModel = (value: unknown): boolean => value instanceof Model;

/** A provider is named, or made by a package of its own: `import { openai } from "@standardagents/openai"`. */
function providerName(provider: unknown, where: string): string | undefined {
  if (typeof provider === 'string' && provider !== '') return provider;
  if (typeof provider !== 'function' && (typeof provider !== 'object' || provider === null)) {
    throw new TypeError(
      `${where}: provider needs a name like "openai", or what a provider's package exports, got ${describeValue(provider)}`,
    );
  }
  const { providerName: named, name } = provider as { providerName?: unknown; name?: unknown };
  const found = named ?? name;
  return typeof found === 'string' && found !== '' ? found : undefined;
}

export function defineModel(given: unknown): Model {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new TypeError(`defineModel needs an object, got ${describeValue(given)}`);
  }
  const definition = given as Config;
  const { name, model, fallbacks = [] } = definition;
  if (typeof name !== 'string' || name.trim() === '') {
    throw new TypeError(`defineModel: name needs a text, got ${describeValue(name)}`);
  }
  const where = `Model "${name}"`;
  if (models.has(name)) throw new Error(`${where} is defined twice`);
  if (typeof model !== 'string' || model.trim() === '') {
    throw new TypeError(`${where}: model needs the provider's name of it, got ${describeValue(model)}`);
  }
  if (!Array.isArray(fallbacks) || !fallbacks.every((one) => typeof one === 'string' && one !== '')) {
    throw new TypeError(`${where}: fallbacks needs a list of names of models, got ${describeValue(fallbacks)}`);
  }
  const provider = providerName(definition.provider, where);
  warnOfOthers('model', where, definition);
  const made = new Model(name, provider === undefined ? undefined : `${provider}/${model}`, fallbacks as string[]);
  models.set(name, made);
  return made;
}

/** The names to try in turn: each model of a prompt, and then its fallbacks. */
export function withFallbacks(names: readonly string[]): string[] {
  const all = new Set<string>();
  const add = (name: string): void => {
    if (all.has(name)) return;
    all.add(name);
    models.get(name)?.fallbacks.forEach(add);
  };
  names.forEach(add);
  return [...all];
}

/** The providers' names of the models that are defined. */
export function definedModels(): Record<string, string> {
  const known = [...models.values()].filter((model) => model.standsFor !== undefined);
  return Object.fromEntries(known.map((model) => [model.name, model.standsFor as string]));
}
