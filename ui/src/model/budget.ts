// A budget as a person types it, and whole numbers. Pure.
import type { Budget } from '../host/host';

export type BudgetDraft = { amount: string; unit: 'calls' | 'tokens' | 'usd' };

/** No budget has more model calls or tokens. */
const MAX_COUNT = 4_294_967_295;
/** No budget has more US dollars. */
const MAX_USD = 1e9;

/** A whole number from 1; null if the text is none. */
export function countOf(text: string): number | null {
  const count = Number(text.trim());
  return Number.isInteger(count) && count >= 1 ? count : null;
}

/** The budget; null if nothing was typed. What is wrong is put into `wrong`. */
export function budgetOf({ amount, unit }: BudgetDraft, wrong: { budget?: string }): Budget | null {
  if (!amount.trim()) return null;
  if (unit === 'usd') {
    const usd = Number(amount);
    if (!(usd > 0 && usd <= MAX_USD)) wrong.budget = 'Type an amount above 0, at most 1,000,000,000.';
    return { usd };
  }
  const count = countOf(amount);
  if (count === null || count > MAX_COUNT) wrong.budget = 'Type a whole number from 1 to 4,294,967,295.';
  return unit === 'calls' ? { calls: count ?? 1 } : { tokens: count ?? 1 };
}
