// What going on with a request will do, in words.
import { thousands } from '../base/thousands';
import { plural } from '../base/json';
import type { Host, PlanRow, RequestRow } from '../host/host';

const RESUMABLE = ['interrupted', 'suspended', 'failed', 'aborted'];

export const isResumable = (row: RequestRow | null): boolean => RESUMABLE.includes(row?.status ?? '');

export type PlanQuestion = { request: string; seq: number };

/** The plan of a resume with whatever is answered. */
export const planAhead = (host: Host, { request }: PlanQuestion): Promise<PlanRow> => host.planResume(request, {});

/** `taken from the log: 12 · runs again: 4 · models asked: 1 · may have happened: fetch at root/step:pay`. */
export function planWords(plan: PlanRow): string {
  const parts = [
    `taken from the log: ${thousands(plan.fromLog)}`,
    `runs again: ${thousands(plan.runsAgain)}`,
    `models asked: ${thousands(plan.modelsAsked)}`,
  ];
  const [first, ...more] = plan.mayHaveHappened;
  if (first)
    parts.push(`may have happened: ${first.kind} at ${first.path}${more.length > 0 ? ` and ${more.length} more` : ''}`);
  return parts.join(' · ');
}

/** The same for the foot of a request. */
export function planSentence(plan: PlanRow): string {
  if (plan.error) return 'a resume would be refused: the flow does not fit the log';
  const again = plan.runsAgain > 0 ? `run ${thousands(plan.runsAgain)} again` : 'run nothing again';
  const models = plan.modelsAsked > 0 ? plural(plan.modelsAsked, 'model', 'models') : 'no model';
  return `resume would take ${thousands(plan.fromLog)} from the log, ${again}, ask ${models}`;
}
