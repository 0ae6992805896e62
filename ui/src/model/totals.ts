// What a request, or a row with all below it, came to: one line of words, the same as the command line prints.
import { thousands } from '../base/thousands';
import { dollars, short } from '../base/amount';
import { plural } from '../base/json';
import type { Counts, Sums } from '../host/host';

export type Part = { id: string; text: string; isBad?: boolean; title?: string };

/** What it has none of is left out. `kept`: the answers of models that a fork has from its original; `shared`: those that
 * another sample of an experiment paid for. */
export function totalParts(
  counts: Pick<Counts, 'blocks' | 'failed'>,
  sums: Sums,
  kept: Sums | null = null,
  shared: Sums | null = null,
): Part[] {
  const parts: Part[] = [{ id: 'blocks', text: plural(counts.blocks, 'block', 'blocks') }];
  if (sums.modelCalls > 0) parts.push({ id: 'calls', text: plural(sums.modelCalls, 'model call', 'model calls') });
  if (sums.promptTokens + sums.completionTokens > 0)
    parts.push(
      { id: 'in', text: `${short(sums.promptTokens)} tokens in`, title: exact(sums.promptTokens) },
      { id: 'out', text: `${short(sums.completionTokens)} out`, title: exact(sums.completionTokens) },
    );
  if (sums.cost != null) parts.push({ id: 'cost', text: dollars(sums.cost), title: costTitle(sums) });
  if (sums.changes > 0) parts.push({ id: 'writes', text: plural(sums.changes, 'write', 'writes') });
  if (counts.failed > 0) parts.push({ id: 'failed', text: `${thousands(counts.failed)} failed`, isBad: true });
  if (kept) parts.push(keptPart(kept));
  if (shared) parts.push(sharedPart(shared));
  return parts;
}

function sharedPart({ modelCalls, promptTokens, completionTokens }: Sums): Part {
  const tokens = `${short(promptTokens)} tokens in, ${short(completionTokens)} out`;
  return {
    id: 'shared',
    text: `shared: ${plural(modelCalls, 'model call', 'model calls')}`,
    title: `${tokens}. Another sample of the experiment asked the same and paid for the answer.`,
  };
}

function keptPart(kept: Sums): Part {
  const cost = kept.cost == null ? '' : `, ${dollars(kept.cost)}`;
  const tokens = `${short(kept.promptTokens)} tokens in, ${short(kept.completionTokens)} out`;
  return {
    id: 'kept',
    text: `kept: ${plural(kept.modelCalls, 'model call', 'model calls')}${cost}`,
    title: `${tokens}, before the fork. The original paid for them.`,
  };
}

const exact = (count: number) => plural(count, 'token', 'tokens');

/** What a cost leaves out. */
export function costTitle({ cost, unpriced }: Sums): string {
  if (cost == null) return '';
  const known = `${cost.toFixed(8).replace(/0+$/, '').replace(/\.$/, '')} US dollars`;
  return unpriced > 0 ? `${known}, without ${plural(unpriced, 'call', 'calls')} of models that have no price` : known;
}

export const NO_COUNTS: Counts = {
  blocks: 0,
  finished: 0,
  running: 0,
  failed: 0,
  suspended: 0,
  items: 0,
  ticks: 0,
  calls: 0,
};

export const NO_SUMS: Sums = { modelCalls: 0, promptTokens: 0, completionTokens: 0, changes: 0, unpriced: 0 };
