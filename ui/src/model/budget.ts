// A budget as a person types it, and whole numbers: by the rules of `--budget` on the command line, with its messages.
// Pure.
import type { Budget } from '../host/host';

export type BudgetDraft = { amount: string; unit: 'calls' | 'tokens' | 'usd' };

/** No budget has more model calls or tokens. */
const MAX_COUNT = 4_294_967_295;
/** No budget has more US dollars. */
const MAX_USD = 1e9;

const UNITS = { calls: 'model calls', tokens: 'tokens', usd: 'US dollars' };
// `Number` also reads `0x10`, and reads `1e3` and `5.0` as whole numbers.
const WHOLE = /^\+?[0-9]+$/;
const DECIMAL = /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?$/;

/** The number without spaces and the underscores that group its digits. */
function numberOf(text: string): string {
  return text.trim().toLowerCase().replace(/[ _]/g, '');
}

/** A whole number from 1; null if the text is none. */
export function countOf(text: string): number | null {
  const number = numberOf(text);
  const count = WHOLE.test(number) ? Number(number) : 0;
  return count >= 1 ? count : null;
}

/** The budget; null if nothing was typed. What is wrong is put into `wrong`. */
export function budgetOf({ amount, unit }: BudgetDraft, wrong: { budget?: string }): Budget | null {
  if (!amount.trim()) return null;
  const number = numberOf(amount);
  if (unit === 'usd') {
    const usd = DECIMAL.test(number) ? Number(number) : NaN;
    if (!(usd > 0 && usd <= MAX_USD)) {
      wrong.budget = `${number} ${UNITS.usd}: give more than 0 and at most ${MAX_USD}`;
    }
    return { usd };
  }
  const count = countOf(amount);
  if (count === null || count > MAX_COUNT) {
    wrong.budget = `${number} ${UNITS[unit]}: give a whole number from 1 to ${MAX_COUNT}`;
  }
  return unit === 'calls' ? { calls: count ?? 1 } : { tokens: count ?? 1 };
}
