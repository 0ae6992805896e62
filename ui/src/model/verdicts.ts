// The verdicts on recorded runs: counted, grouped by their first difference, and merged with newer ones. Pure.
import type { DifferingField, Verdict, Verified, VerifiedRun } from '../host/host';
import { plural } from '../base/json';
import type { Look } from './status';

/** Verdicts that are shown. `notRun` runs were left without one, because it was cancelled: those that are `missing`. */
export type Shown = { runs: VerifiedRun[]; notRun: number; missing?: readonly string[] | undefined };

/** These runs, and what was left out of an answer. */
export const shownOf = ({ notRun = 0, missing }: Pick<Verified, 'notRun' | 'missing'>, runs: VerifiedRun[]): Shown => ({
  runs,
  notRun,
  missing,
});

/** From what a person looks at first to what needs no look. */
export const VERDICTS: readonly Verdict[] = [
  'differs',
  'asks_new',
  'does_not_load',
  'not_comparable',
  'same',
  'unaffected',
];

export const VERDICT_LOOKS: Record<Verdict, Look> = {
  differs: { label: 'Differs', tone: 'warn', icon: 'change' },
  asks_new: { label: 'Asks something new', tone: 'hold', icon: 'generator' },
  does_not_load: { label: 'Does not load', tone: 'bad', icon: 'cross' },
  not_comparable: { label: 'Not comparable', tone: 'idle', icon: 'info' },
  same: { label: 'Same', tone: 'good', icon: 'check' },
  unaffected: { label: 'Unaffected', tone: 'good', icon: 'minus' },
};

/** What a verdict means, for a tooltip. */
export const VERDICT_MEANINGS: Record<Verdict, string> = {
  differs: 'The current code does something else',
  asks_new: 'The current code asks a model, or the outside, something that was not recorded: only a live run can tell',
  does_not_load: 'The flow does not load, or the action is gone',
  not_comparable: 'The run cannot be replayed',
  same: 'The current code does the same',
  unaffected: 'The code is the code that ran, so nothing was replayed',
};

export const isGood = (verdict: Verdict): boolean => verdict === 'same' || verdict === 'unaffected';

/** What a run is known by: its file, or its request. */
export const keyOfRun = ({ file, requestId }: VerifiedRun): string => file ?? requestId ?? '';

export type Counts = Record<Verdict, number>;

export function countsOf(runs: readonly VerifiedRun[]): Counts {
  const counts: Counts = { differs: 0, asks_new: 0, does_not_load: 0, not_comparable: 0, same: 0, unaffected: 0 };
  for (const { verdict } of runs) counts[verdict]++;
  return counts;
}

export type RunGroup = {
  key: string;
  verdict: Verdict;
  /** Null if the runs are of several flows: one change of a shared module makes them differ in the same place. */
  flow: string | null;
  /** In the order of their names. */
  flows: readonly string[];
  /** With `*` for the numbers of turns and branches. */
  path: string | null;
  field: DifferingField | null;
  why: string | null;
  /** In the order of the results. */
  runs: VerifiedRun[];
};

/**
 * Runs that are not as they were, by their first difference, the largest group first. It is done here and not read from
 * the answer, because groups are narrowed to a flow and shrink when runs are accepted, and each needs its runs.
 */
export function groupsOf(runs: readonly VerifiedRun[]): RunGroup[] {
  const groups = new Map<string, RunGroup>();
  for (const run of runs) {
    if (isGood(run.verdict)) continue;
    const path = run.path == null ? null : withoutNumbers(run.path);
    const why = run.why == null ? null : withoutIds(run.why, run);
    const { verdict, flow = null, field = null } = run;
    // Lines and events have other numbers in each file. Other numbers are a part of the reason, like those of models.
    const reason = verdict === 'not_comparable' ? (why?.replace(/\b(line|event) \d+/g, '$1 …') ?? null) : why;
    const owner = verdict === 'differs' ? null : flow;
    const key = JSON.stringify([verdict, owner, path, field, reason]);
    const group = groups.get(key);
    if (group) {
      group.runs.push(run);
      if (group.why !== why) group.why = reason;
    } else groups.set(key, { key, verdict, flow, flows: [], path, field, why, runs: [run] });
  }
  for (const group of groups.values()) {
    group.flows = [...new Set(group.runs.flatMap(({ flow }) => flow ?? []))].sort();
    if (group.flows.length > 1) group.flow = null;
  }
  return [...groups.values()].sort((a, b) => b.runs.length - a.runs.length);
}

export const withoutNumbers = (path: string): string => path.replace(/\[[^\]]*\]/g, '[*]');

/** A reason without what names one run: the name as a whole word, because an id may be as short as `a`. */
function withoutIds(why: string, { requestId, file }: VerifiedRun): string {
  return [requestId, file].reduce<string>(
    (text, id) => (id ? text.replaceAll(new RegExp(`(?<![\\w-])${escaped(id)}(?![\\w-])`, 'g'), '…') : text),
    why,
  );
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** The newer verdicts in the place of the older ones of the same runs; runs that were not known come first. */
export function merged(known: readonly VerifiedRun[], newer: readonly VerifiedRun[]): VerifiedRun[] {
  const byKey = new Map(newer.map((run) => [keyOfRun(run), run]));
  const kept = known.map((run) => {
    const found = byKey.get(keyOfRun(run));
    byKey.delete(keyOfRun(run));
    return found ?? run;
  });
  return [...byKey.values(), ...kept];
}

export type Badge = { differs: number; asksNew: number };

/** What stands beside each flow: only flows of which something is not as it was. */
export function badgesOf(runs: readonly VerifiedRun[]): Map<string, Badge> {
  const badges = new Map<string, Badge>();
  for (const { flow, verdict } of runs) {
    if (!flow || (verdict !== 'differs' && verdict !== 'asks_new')) continue;
    const badge = badges.get(flow) ?? { differs: 0, asksNew: 0 };
    if (verdict === 'differs') badge.differs++;
    else badge.asksNew++;
    badges.set(flow, badge);
  }
  return badges;
}

export const badgeWords = ({ differs, asksNew }: Badge): string =>
  differs > 0 ? plural(differs, 'differs', 'differ') : plural(asksNew, 'asks new', 'ask new');

export function badgeTip({ differs, asksNew }: Badge, isRecent: boolean): string {
  const parts = [
    ...(differs > 0
      ? [`${plural(differs, 'recorded run differs', 'recorded runs differ')} with the current code`]
      : []),
    ...(asksNew > 0 ? [`${plural(asksNew, 'asks', 'ask')} something that was not recorded`] : []),
  ];
  return `${parts.join(', ')}.${isRecent ? ' Only runs of the last 7 days were verified.' : ''}`;
}

/** The same for all flows together; empty without a badge. */
export function allBadgesTip(badges: ReadonlyMap<string, Badge>, isRecent: boolean): string {
  const all = { differs: 0, asksNew: 0 };
  for (const { differs, asksNew } of badges.values()) {
    all.differs += differs;
    all.asksNew += asksNew;
  }
  return badges.size === 0 ? '' : badgeTip(all, isRecent);
}

/** Why a run cannot be accepted; null if it can. */
export function whyNotAccepted({ verdict }: Pick<VerifiedRun, 'verdict'>): string | null {
  switch (verdict) {
    case 'differs':
      return null;
    case 'asks_new':
      return 'It makes a call that was not recorded: only a live run can show the result';
    case 'does_not_load':
      return 'The flow does not load: correct its file first';
    case 'not_comparable':
      return 'It cannot be replayed, so there is nothing to accept';
    default:
      return 'It is as it was';
  }
}
