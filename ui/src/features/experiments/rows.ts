// The rows of the table of an experiment: the base arm first, the others as they are sorted, samples below their arm.
// Pure.
import type { ArmView, ExperimentView, SampleView } from '../../host/host';

export type SortBy = 'arm' | 'score' | 'tokens' | 'latency' | 'differing';
export type Sort = { by: SortBy; descending: boolean };
export type Row = { id: string; arm: ArmView; sample: SampleView | null };

/** Best first, cheapest first, fastest first. */
export const FIRST_DESCENDING: Record<SortBy, boolean> = {
  arm: false,
  score: true,
  tokens: false,
  latency: false,
  differing: true,
};

const KEYS: Record<Exclude<SortBy, 'arm'>, (arm: ArmView) => number | null | undefined> = {
  score: ({ summary }) => summary.rate ?? summary.mean,
  tokens: ({ summary }) => summary.medianTokens,
  latency: ({ summary }) => summary.medianMs,
  differing: ({ summary }) => summary.differing,
};

/** Whether everything as recorded was sampled beside the arms. */
export const hasBase = ({ base }: ExperimentView): boolean => base.id === 'base';

/** Arms without a value come last, whichever way the others are sorted. */
export function sorted(arms: readonly ArmView[], { by, descending }: Sort): ArmView[] {
  if (by === 'arm') return descending ? [...arms].reverse() : [...arms];
  const sign = descending ? -1 : 1;
  const keyed = arms.map((arm) => ({ arm, key: KEYS[by](arm) ?? null }));
  const compare = (a: (typeof keyed)[number], b: (typeof keyed)[number]) => {
    if (a.key === null || b.key === null) return Number(a.key === null) - Number(b.key === null);
    return sign * (a.key - b.key);
  };
  return keyed.sort(compare).map(({ arm }) => arm);
}

export const sampleId = (arm: string, number: number): string => `${arm} ${number}`;

export function rowsOf(view: ExperimentView, sort: Sort, unfolded: ReadonlySet<string>): Row[] {
  const arms = sorted(view.arms, sort);
  const all = hasBase(view) ? [view.base, ...arms] : arms;
  return all.flatMap((arm): Row[] => [
    { id: arm.id, arm, sample: null },
    ...(unfolded.has(arm.id)
      ? arm.samples.map((sample) => ({ id: sampleId(arm.id, sample.number), arm, sample }))
      : []),
  ]);
}

/** The least and the greatest value that scores are drawn between: 0 to 1 for rates. */
export function scoreRange(view: ExperimentView): { from: number; to: number } {
  const all = [view.base, ...view.arms].map((arm) => arm.summary);
  if (all.every((one) => one.mean == null)) return { from: 0, to: 1 };
  const known = all.flatMap(({ mean, rate, low, high }) => [mean, rate, low, high]).filter((one) => one != null);
  const [from, to] = [Math.min(...known), Math.max(...known)];
  return from === to ? { from: from - 0.5, to: to + 0.5 } : { from, to };
}
