// What the Experiments page and its sheets say of plans, arms and samples. Pure.
import { dollars } from '../../base/amount';
import { isRecord, plural, preview } from '../../base/json';
import { thousands } from '../../base/thousands';
import { duration } from '../../base/time';
import type {
  ArmSummary,
  ArmView,
  BesideBase,
  ExperimentView,
  LeftToDo,
  SampleView,
  TryPlan,
  TryProgress,
} from '../../host/host';
import type { Look } from '../../model/status';

/** `0.04 US dollars`: the unit is spelled out where an amount stands in a sentence. */
export const money = (usd: number): string => `${dollars(usd).slice(1)} US dollars`;

/** What is left to do of an experiment: nothing if all has ended. */
function leftWords({ toBegin, toContinue, toScore }: LeftToDo): string {
  const all: [number, string][] = [
    [toBegin, 'begin'],
    [toContinue, 'continue'],
    [toScore, 'score'],
  ];
  const parts = all.filter(([count]) => count > 0);
  return parts.map(([count, what]) => `${plural(count, 'sample', 'samples')} to ${what}`).join(', ');
}

/** What an experiment will take, in one sentence; of one that goes on what is left to do. */
export function planWords(plan: TryPlan): string {
  const left = plan.left ? leftWords(plan.left) : null;
  if (left === '') return 'Nothing is left to do';
  const { arms, samples, modelCalls, baseModelCalls, scoreModelCalls, scoredBy, tokens, costUsd } = plan;
  const all = `${plural(arms, 'arm', 'arms')} × ${plural(samples, 'sample', 'samples')}`;
  const runs = left === null ? all : `Left to do: ${left}`;
  const parts = [
    ...(baseModelCalls > 0 ? [`${thousands(baseModelCalls)} with nothing changed`] : []),
    ...(scoreModelCalls > 0 ? [`${thousands(scoreModelCalls)} to score samples`] : []),
  ];
  const beside = parts.length > 0 ? ` (${parts.join(', ')})` : '';
  const calls = modelCalls === 0 ? 'no model calls' : `at most ${plural(modelCalls, 'model call', 'model calls')}`;
  const rest = [
    ...(tokens == null ? [] : [plural(Math.round(tokens), 'token', 'tokens')]),
    ...(costUsd == null ? [] : [money(costUsd)]),
  ];
  const uncounted = scoredBy == null ? '' : `; what ${scoredBy} asks of models is not counted`;
  return [`${runs}: ${calls}${beside}`, ...rest].join(', ') + uncounted;
}

/** `model gpt-5-mini · temperature 0.5`; the values of an arm as text. */
export function axesOf({ axes }: Pick<ArmView, 'axes'>): { name: string; value: string }[] {
  if (!isRecord(axes)) return [];
  return Object.entries(axes).map(([name, value]) => ({
    name,
    value: typeof value === 'string' ? value || '(empty)' : preview(value, 60),
  }));
}

export const armTitle = (arm: Pick<ArmView, 'axes' | 'id'>): string =>
  axesOf(arm)
    .map(({ name, value }) => `${name} ${value}`)
    .join(' · ') || (arm.id === 'base' ? 'As recorded' : 'Nothing changed');

export const BESIDE_LOOKS: Record<BesideBase, Look & { meaning: string }> = {
  better: {
    label: 'Better than base',
    tone: 'good',
    icon: 'up',
    meaning: 'Its scores are higher than those of the base arm, and chance is an unlikely reason',
  },
  worse: {
    label: 'Worse than base',
    tone: 'bad',
    icon: 'down',
    meaning: 'Its scores are lower than those of the base arm, and chance is an unlikely reason',
  },
  not_enough_samples: {
    label: 'Not enough samples',
    tone: 'idle',
    icon: 'dashed',
    meaning: 'Not enough samples to tell whether it is better or worse than the base arm',
  },
  same: { label: 'Same as base', tone: 'idle', icon: 'minus', meaning: 'Models are mocked, and the scores are equal' },
};

const percent = (share: number) => `${Math.round(100 * share)} %`;
/** At most four digits, and no zeros at the end. */
export const number = (value: number): string =>
  Math.abs(value) >= 10_000 ? thousands(Math.round(value)) : String(Number(value.toPrecision(4)));

/** The score of an arm: `80 %` of those that pass, or the mean. Null without a score. */
export function scoreWords({ rate, mean }: ArmSummary): string | null {
  if (rate != null) return percent(rate);
  return mean == null ? null : number(mean);
}

/** The interval in words, as they are also read out. */
export function intervalWords({ rate, mean, low, high, n, unscored }: ArmSummary): string {
  // The mean of equal scores has no interval.
  if (low == null || high == null) return mean != null && n - unscored > 1 ? 'all equal' : '';
  return rate != null ? `${Math.round(100 * low)} to ${percent(high)}` : `${number(low)} to ${number(high)}`;
}

/** What the score of an arm counts: `4 of 5 pass`, or how many samples the mean is of. */
export function countWords({ n, passed, mean, unscored }: ArmSummary): string {
  const left = unscored > 0 ? `, ${thousands(unscored)} without score` : '';
  if (passed != null) return `${thousands(passed)} of ${thousands(n - unscored)} pass${left}`;
  return mean == null ? '' : `mean of ${thousands(n - unscored)}${left}`;
}

/** What answers cost that another sample has paid for: `+ $0.018 shared`. */
export const sharedWords = (usd: number | null | undefined): string => (usd == null ? '' : `+ ${dollars(usd)} shared`);

export function latencyWords({ lowMs, highMs }: ArmSummary): string {
  return lowMs == null || highMs == null || lowMs === highMs ? '' : `${duration(lowMs)} to ${duration(highMs)}`;
}

/** A score of one sample as text. */
export function sampleScore({ score, scoreError }: SampleView): { text: string; tone: 'good' | 'bad' | 'soft' } {
  if (scoreError != null) return { text: 'No score', tone: 'bad' };
  if (score === true) return { text: 'Passes', tone: 'good' };
  if (score === false) return { text: 'Fails', tone: 'bad' };
  if (score == null) return { text: '', tone: 'soft' };
  return { text: typeof score === 'number' ? number(score) : preview(score, 40), tone: 'soft' };
}

export function differsWords({ output, state }: SampleView['differs']): string {
  if (output && state) return 'Output and state differ';
  if (output) return 'Output differs';
  return state ? 'State differs' : 'Same as the request';
}

export const progressWords = (progress: TryProgress): string =>
  progress.of === 0
    ? 'Starting…'
    : `${thousands(progress.done)} of ${plural(progress.of, 'sample', 'samples')}${
        progress.failed > 0 ? `, ${thousands(progress.failed)} failed` : ''
      }`;

export function stoppedWords({
  missing,
  unscored,
  stopped,
  arms,
  isRequestGone,
}: Pick<ExperimentView, 'missing' | 'unscored' | 'stopped' | 'arms' | 'isRequestGone'>) {
  const parts = [
    ...(missing > 0 ? [`${plural(missing, 'sample is', 'samples are')} missing`] : []),
    ...(unscored > 0 ? [`${plural(unscored, 'sample has', 'samples have')} no score yet`] : []),
  ];
  const count = parts.join(', ');
  if (stopped === 'budget') return { title: 'The budget is spent', message: `${count}. What has ended is shown.` };
  if (stopped === 'cancelled') return { title: 'Stopped', message: `${count}. What has ended is shown.` };
  if (isRequestGone)
    return {
      title: count,
      message: 'The request was deleted, so the experiment cannot go on. What has ended is shown.',
    };
  const isRefused = arms.some((arm) => arm.error);
  return {
    title: count,
    message: isRefused
      ? 'Some arms cannot run. The row of each says why.'
      : 'They did not run, or their requests were deleted.',
  };
}

/** The note on samples of an arm that were not started because the budget is spent. */
export function notStartedWords({ notStarted, error }: ArmView, stopped: ExperimentView['stopped']): string {
  if (stopped !== 'budget' || notStarted.length === 0 || error != null) return '';
  return `${thousands(notStarted.length)} not started: the budget is spent`;
}

/** What happened, for a screen reader. */
export function summaryWords({ base, arms, missing }: ExperimentView): string {
  const better = arms.filter((arm) => arm.summary.besideBase === 'better').length;
  const ended = arms.reduce((sum, arm) => sum + arm.summary.n, base.id === 'base' ? base.summary.n : 0);
  const rest = missing > 0 ? `, ${thousands(missing)} missing` : '';
  return `${plural(ended, 'sample', 'samples')} ended${rest}: ${plural(better, 'arm is', 'arms are')} better than base.`;
}

/** How many of a sample's calls another sample paid for. */
export const sharedCallsWords = ({ modelCalls, sharedCalls }: { modelCalls: number; sharedCalls: number }): string =>
  sharedCalls === 0
    ? ''
    : ` (${sharedCalls === modelCalls ? '' : `${thousands(sharedCalls)} of them `}shared with other samples, which paid)`;

/** Which values of an arm an edit writes: `model and temperature of the arm`. */
export function adoptedWords(values: readonly string[]): string {
  const last = values.at(-1) ?? 'nothing';
  const names = values.length > 1 ? `${values.slice(0, -1).join(', ')} and ${last}` : last;
  return `${names} of the arm`;
}
