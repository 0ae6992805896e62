// What a prompt says of how its model answers: its tools, side by side or not, and how much it thinks.

import { describeValue } from '../base/arguments';
import type { Config } from './blocks';

const CHOICES = ['auto', 'none', 'required'];
const EFFORTS = ['low', 'medium', 'high'];

/** How a model is to think, and what becomes of it. */
interface Reasoning {
  effort?: string;
  maxTokens?: number;
  include?: boolean;
  exclude?: boolean;
}

/** Refuses values that these settings cannot have. */
export function checkModelOptions(definition: Config, where: string): void {
  needOneOf(definition.toolChoice, CHOICES, `${where}: toolChoice`);
  needBoolean(definition.parallelToolCalls, `${where}: parallelToolCalls`);
  const { reasoning } = definition;
  if (reasoning === undefined) return;
  if (typeof reasoning !== 'object' || reasoning === null) {
    throw new TypeError(`${where}: reasoning is an object like { effort: "low" }, not ${describeValue(reasoning)}`);
  }
  const { effort, maxTokens, include, exclude, ...others } = reasoning as Reasoning;
  needOneOf(effort, EFFORTS, `${where}: reasoning.effort`);
  if (maxTokens !== undefined && !(Number.isInteger(maxTokens) && maxTokens >= 1 && maxTokens < 2 ** 31)) {
    throw new TypeError(`${where}: reasoning.maxTokens is a whole number from 1 on, not ${describeValue(maxTokens)}`);
  }
  needBoolean(include, `${where}: reasoning.include`);
  needBoolean(exclude, `${where}: reasoning.exclude`);
  const [other] = Object.keys(others);
  if (other !== undefined) {
    throw new Error(`${where}: reasoning has effort, maxTokens, include and exclude, and no "${other}"`);
  }
}

/** The same as the engine reads it: options of the model call, and what becomes of the model's thoughts. */
export function modelOptionsOf(definition: Config): Config {
  const { effort, maxTokens, include, exclude } = (definition.reasoning ?? {}) as Reasoning;
  const options = Object.entries({
    toolChoice: definition.toolChoice,
    parallelToolCalls: definition.parallelToolCalls,
    reasoningEffort: effort,
    reasoningMaxTokens: maxTokens,
  }).filter(([, value]) => value !== undefined);
  return {
    options: options.length > 0 ? Object.fromEntries(options) : undefined,
    includeReasoning: include === true,
    excludeReasoning: exclude === true,
  };
}

function needOneOf(value: unknown, words: readonly string[], where: string): void {
  if (value === undefined || (typeof value === 'string' && words.includes(value))) return;
  const listed = words.map((word) => `"${word}"`).join(', ');
  throw new TypeError(`${where} is one of ${listed}, not ${describeValue(value)}`);
}

function needBoolean(value: unknown, where: string): void {
  if (value === undefined || typeof value === 'boolean') return;
  throw new TypeError(`${where} is true or false, not ${describeValue(value)}`);
}
