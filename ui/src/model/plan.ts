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

/** What is inside of the blocks that are taken from the log, which count once each: `with the 9 inside them`. */
export const insideWords = ({ fromLog, insideFromLog }: PlanRow): string =>
  insideFromLog ? `with the ${thousands(insideFromLog)} inside ${fromLog === 1 ? 'it' : 'them'}` : '';

/** `5, with the 9 inside them`. */
function takenWords(plan: PlanRow): string {
  const inside = insideWords(plan);
  return thousands(plan.fromLog) + (inside && `, ${inside}`);
}

/** How many model calls what runs again makes: `2`, `at least 2`, `0 or more`. */
export function modelsAsked({ modelsAsked, mayAskMore }: PlanRow): string {
  const asked = thousands(modelsAsked);
  if (!mayAskMore) return asked;
  return modelsAsked > 0 ? `at least ${asked}` : '0 or more';
}

function modelWords({ modelsAsked, mayAskMore }: PlanRow): string {
  if (modelsAsked === 0) return mayAskMore ? 'perhaps ask models' : 'ask no model again';
  return `ask ${mayAskMore ? 'at least ' : ''}${plural(modelsAsked, 'model', 'models')}`;
}

/** `taken from the log: 12 · goes on: 2 · runs again: 4 · models asked: 1 · may have happened: fetch at root/step:pay`. */
export function planWords(plan: PlanRow): string {
  const parts = [
    `taken from the log: ${takenWords(plan)}`,
    ...(plan.goesOn ? [`goes on: ${thousands(plan.goesOn)}`] : []),
    `runs again: ${thousands(plan.runsAgain)}`,
    `models asked: ${modelsAsked(plan)}`,
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
  const inside = insideWords(plan);
  const taken = `${thousands(plan.fromLog)} from the log${inside && ` ${inside}`}`;
  const goesOn = plan.goesOn ? `go on with ${thousands(plan.goesOn)}, ` : '';
  return `resume would take ${taken}, ${goesOn}${again}, ${modelWords(plan)}`;
}
