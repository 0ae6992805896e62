// What going on with a request will do, in words.
import { thousands } from '../base/thousands';
import { plural } from '../base/json';
import type { Host, PlanRow, RequestRow } from '../host/host';

const RESUMABLE = ['interrupted', 'suspended', 'failed', 'aborted'];

/** A request that was received as a trace has nothing to go on with. */
export const isResumable = (row: RequestRow | null): boolean =>
  RESUMABLE.includes(row?.status ?? '') && row?.receivedFrom == null;

export type PlanQuestion = { request: string; seq: number };

/** The plan of a resume with whatever is answered. */
export const planAhead = (host: Host, { request }: PlanQuestion): Promise<PlanRow> => host.planResume(request, {});

/** The blocks inside of those that are reused, which count once each: `+9 nested`. */
export const insideWords = ({ insideFromLog }: PlanRow): string =>
  insideFromLog ? `+${thousands(insideFromLog)} nested` : '';

/** `5 (+9 nested)`. */
function reusedWords(plan: PlanRow): string {
  const inside = insideWords(plan);
  return thousands(plan.fromLog) + (inside && ` (${inside})`);
}

/** How many model calls what runs again makes: `2`, `at least 2`, `0 or more`. */
export function modelsAsked({ modelsAsked, mayAskMore }: PlanRow): string {
  const asked = thousands(modelsAsked);
  if (!mayAskMore) return asked;
  return modelsAsked > 0 ? `at least ${asked}` : '0 or more';
}

function modelWords({ modelsAsked, mayAskMore }: PlanRow): string {
  if (modelsAsked === 0) return mayAskMore ? 'perhaps model calls' : 'no model calls';
  return `${mayAskMore ? 'at least ' : ''}${plural(modelsAsked, 'model call', 'model calls')}`;
}

/** `reused: 12 · re-run: 4 · model calls: 1 · may have happened: fetch at root/step:pay`. */
export function planWords(plan: PlanRow): string {
  const parts = [
    `reused: ${reusedWords(plan)}`,
    ...(plan.goesOn ? [`continued: ${thousands(plan.goesOn)}`] : []),
    `re-run: ${thousands(plan.runsAgain)}`,
    `model calls: ${modelsAsked(plan)}`,
  ];
  const [first, ...more] = plan.mayHaveHappened;
  if (first)
    parts.push(`may have happened: ${first.kind} at ${first.path}${more.length > 0 ? ` and ${more.length} more` : ''}`);
  return parts.join(' · ');
}

/** The same for the foot of a request. */
export function planSentence(plan: PlanRow): string {
  if (plan.error) return 'a resume would be refused: the flow does not fit the log';
  const again = plan.runsAgain > 0 ? `re-run ${thousands(plan.runsAgain)}` : 're-run nothing';
  const reused = plan.fromLog + (plan.insideFromLog ?? 0);
  const goesOn = plan.goesOn ? `continue ${thousands(plan.goesOn)}, ` : '';
  return `Resume: reuse ${thousands(reused)}, ${goesOn}${again}, ${modelWords(plan)}`;
}
