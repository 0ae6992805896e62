// Tokens and money as people read them at a glance.

/** `640`, `4.1k`, `12k`, `1.2M`. */
export function short(count: number): string {
  if (count < 1000) return String(count);
  if (count < 10_000) return `${(count / 1000).toFixed(1)}k`;
  return count < 1_000_000 ? `${Math.round(count / 1000)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}

/** For a column: the same number of decimals for each, so that they stand below each other. */
export const cents = (cost: number): string => fixed(cost, cost >= 100 ? 2 : 6);

/** Two digits that say something, and cents where there are some: `$0.00021`, `$0.012`, `$3.40`. */
export function dollars(cost: number): string {
  if (cost === 0) return '$0';
  return fixed(cost, cost >= 0.1 ? 2 : Math.min(20, Math.max(0, Math.ceil(-Math.log10(cost))) + 1));
}

/**
 * Rounded as people do and the command line does: 0.145 is 0.15, though no binary fraction is 0.145. Costs are whole
 * trillionths.
 */
function fixed(cost: number, digits: number): string {
  const scale = 10 ** digits;
  const rounded = digits > 11 ? cost : Math.round(Math.round(cost * 1e12) / (1e12 / scale)) / scale;
  return `$${rounded.toFixed(digits)}`;
}
