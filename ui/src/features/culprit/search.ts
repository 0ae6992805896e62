// What a person typed for the search of the deciding step, as what it is asked with. Pure.
import type { CulpritQuery, ModelsBy } from '../../host/host';
import { budgetOf, countOf, type BudgetDraft } from '../../model/budget';

export type SearchDraft = {
  fails: string;
  samples: string;
  budget: BudgetDraft;
  modelsBy: Extract<ModelsBy, string>;
};

/** Of a request that failed, its failure is what is looked for. */
export const newSearch = (hasFailed: boolean): SearchDraft => ({
  fails: hasFailed ? 'status == "failed"' : '',
  samples: '8',
  budget: { amount: '', unit: 'calls' },
  modelsBy: 'asRecorded',
});

export function searchOf(draft: SearchDraft, request: string) {
  const wrong: { fails?: string; samples?: string; budget?: string } = {};
  const fails = draft.fails.trim();
  if (!fails) wrong.fails = 'Type what is wrong with this request, such as output.eur > 100.';
  const samples = countOf(draft.samples) ?? 0;
  if (samples < 1 || samples > 200) wrong.samples = 'Type a whole number from 1 to 200.';
  const budget = budgetOf(draft.budget, wrong);
  const query: CulpritQuery = { request, fails, samples, budget, modelsBy: draft.modelsBy, jobs: null };
  return { query, wrong };
}
