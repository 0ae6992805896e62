// What the search for the deciding step says, and where its curve is drawn. Pure.
import { plural } from '../../base/json';
import { thousands } from '../../base/thousands';
import type { CulpritView, CurvePoint, TryPlan, TryProgress } from '../../host/host';

export function verdictWords({ verdict, culprit }: CulpritView): string {
  if (verdict === 'found' && culprit) return `Decided at ${culprit.path}`;
  return verdict === 'before_the_first_step' ? 'Decided before the first step' : 'Not enough samples to tell';
}

/** What the verdict means. */
export function meaningOf({ verdict, forks }: CulpritView): string {
  const ran = plural(forks, 'fork was run', 'forks were run');
  if (verdict === 'found')
    return `Forks from before this step can still end well; forks from after it seldom do. ${ran}.`;
  if (verdict === 'before_the_first_step')
    return `Forks from before the first step come to the same: look at the input and the state. ${ran}.`;
  return `Type more samples, or raise the budget. ${ran}.`;
}

/** The host sends a number that is none as null. */
const percent = (share: number | null) => `${Math.round(100 * (share ?? 0))} %`;

export const pointWords = ({ path, rate, low, high, failures, samples }: CurvePoint): string =>
  `From before ${path}: ${percent(rate)}, ${thousands(failures)} of ${thousands(samples)}, interval ${percent(low)} to ${percent(high)}`;

export const searchWords = (progress: TryProgress | null): string =>
  progress ? `${plural(progress.done, 'fork', 'forks')} run` : 'Starting…';

/** What forks may ask, before any is run. */
export function asksWords({ modelCalls, models, otherModels, hosts, asksAgain, mock, notes }: TryPlan): string {
  const named = (what: string, names: readonly string[]) => (names.length > 0 ? [`${what}: ${names.join(', ')}.`] : []);
  return [
    ...(models.length === 0
      ? ['No model is asked.']
      : mock
        ? ['Models are mocked, and cost nothing.']
        : named(`At most ${plural(modelCalls, 'model call', 'model calls')}`, models)),
    ...(mock ? [] : named('Another way through the flow may ask', otherModels)),
    ...named('Hosts', hosts),
    ...named('Each fork asks for approval again at', asksAgain),
    ...notes.map((note) => `${note.charAt(0).toUpperCase()}${note.slice(1)}.`),
  ].join(' ');
}

export type Plot = { width: number; height: number; left: number; right: number; top: number; bottom: number };
export type Drawn = { point: CurvePoint; x: number; y: number; low: number; high: number; isCulprit: boolean };

/** Where each step is: at equal distances, in their order. */
export function placesOf({ steps }: Pick<CulpritView, 'steps'>, { width, left, right }: Plot): number[] {
  const last = Math.max(1, steps.length - 1);
  return steps.map((_, n) => left + (width - left - right) * (steps.length === 1 ? 0.5 : n / last));
}

export function drawn(view: CulpritView, plot: Plot): Drawn[] {
  const places = placesOf(view, plot);
  const xOf = new Map(view.steps.map((step, n) => [step.seq, places[n]]));
  const yOf = (share: number | null) => plot.top + (1 - (share ?? 0)) * (plot.height - plot.top - plot.bottom);
  return view.curve.map((point) => ({
    point,
    x: xOf.get(point.seq) ?? plot.left,
    y: yOf(point.rate),
    low: yOf(point.low),
    high: yOf(point.high),
    isCulprit: view.culprit?.seq === point.seq,
  }));
}
