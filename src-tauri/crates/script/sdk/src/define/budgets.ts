// What a request may use, and what it costs: `tokenBudget` of an action, `costEstimator` of a flow.

import type { Config } from './blocks';
import type { Flow } from './flow';

let costEstimator: { estimate(entry: unknown, model: string): number } | undefined;

/** The flow that runs says what its tokens cost. */
export function estimateCostsBy(flow: Flow): void {
  costEstimator = flow.definition.costEstimator as typeof costEstimator;
}

/** What the tokens cost by the flow's `costEstimator`; nothing without one. */
export function costEstimate(usage: Record<string, Config>): Config {
  const byModel: Record<string, number> = {};
  for (const [model, tokens] of Object.entries(usage)) {
    const entry = { promptTokens: tokens.prompt, completionTokens: tokens.completion, totalTokens: tokens.total };
    byModel[model] = Number(costEstimator?.estimate({ ...tokens, ...entry }, model) ?? 0);
  }
  return { totalUSD: Object.values(byModel).reduce((sum, usd) => sum + usd, 0), byModel };
}

/** The `tokenBudget` of an action (`action "say"`) as the engine has it, in tokens. */
export function budget(kind: string, action: string, given: Config | undefined): Config | undefined {
  if (given === undefined) return undefined;
  const where = `Flow "${kind}": ${action}: tokenBudget`;
  const { maxTotalTokens, warnAt, onExceeded = 'error' } = given;
  if (typeof maxTotalTokens !== 'number' || !(maxTotalTokens >= 0)) {
    throw new Error(`${where} needs { maxTotalTokens: a number of tokens }`);
  }
  if (!['error', 'stop', 'warn'].includes(onExceeded as string)) {
    throw new Error(`${where}: onExceeded is "error", "stop" or "warn", not ${JSON.stringify(onExceeded)}`);
  }
  // A threshold of up to 1 is a part of the budget, a larger one a number of tokens.
  const warn = typeof warnAt === 'number' ? (warnAt <= 1 ? warnAt * maxTotalTokens : warnAt) : undefined;
  return { maxTotalTokens: Math.floor(maxTotalTokens), warnAt: warn && Math.floor(warn), onExceeded };
}
