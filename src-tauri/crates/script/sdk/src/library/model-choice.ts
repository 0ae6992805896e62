// `selectModel`: a generator's model by rules. What the rules prefer comes first, then the first rule that holds, then
// the default.

import { describeValue } from '../base/arguments';
import { byPreference } from './model-names';

type Rule = {
  prefer?: (input: unknown, ctx: unknown) => unknown;
  preferProvider?: (input: unknown, ctx: unknown) => unknown;
  when?: (input: unknown, ctx: unknown) => unknown;
  use?: string | string[];
};

/** A model, and the providers that are preferred for it. */
interface ModelSelection {
  model: string | string[];
  preferProvider?: string | string[];
}

export function isModelSelection(value: unknown): value is ModelSelection {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && 'model' in value;
}

function checked(rule: unknown, at: number): Rule {
  const keys = ['prefer', 'preferProvider', 'when'];
  const { use, ...given } = (rule ?? {}) as Record<string, unknown>;
  const key = keys.find((one) => typeof given[one] === 'function');
  if (key === undefined || (key === 'when' && use === undefined)) {
    throw new TypeError(
      `selectModel: rule [${at}] is { preferProvider: (input, ctx) => … } or { when: (input, ctx) => …, use: "…" }, ` +
        `got ${describeValue(rule)}`,
    );
  }
  return rule as Rule;
}

export function selectModel(defaultModel: string | string[], rules: unknown = []) {
  const list = (Array.isArray(rules) ? (rules as unknown[]) : [rules]).map(checked);
  return async (input: unknown, ctx: unknown): Promise<string | string[]> => {
    for (const { prefer } of list) {
      const wanted = await prefer?.(input, ctx);
      if (typeof wanted === 'string' && wanted !== '' && wanted !== defaultModel) return wanted;
    }
    const preferred: string[] = [];
    for (const { preferProvider } of list) {
      const wanted = await preferProvider?.(input, ctx);
      for (const one of Array.isArray(wanted) ? wanted : [wanted]) if (typeof one === 'string') preferred.push(one);
    }
    let chosen = defaultModel;
    for (const { when, use } of list) {
      if (!(await when?.(input, ctx))) continue;
      chosen = use as string | string[];
      break;
    }
    // One name leaves nothing to prefer: which provider answers it, flowglass.json says.
    return Array.isArray(chosen) ? byPreference(chosen, preferred) : chosen;
  };
}
