// What going on with a request will do, in words.
import { thousands } from '../base/thousands';
import { plural } from '../base/json';
import type { Host, PlanRow, Reply, RequestRow, ResumeOptions, SuspensionRow } from '../host/host';

const RESUMABLE = ['interrupted', 'suspended', 'failed', 'aborted'];

/** A request that was received as a trace has nothing to go on with. */
export const isResumable = (row: RequestRow | null): boolean =>
  RESUMABLE.includes(row?.status ?? '') && row?.receivedFrom == null;

export type PlanQuestion = { request: string; seq: number; status: RequestRow['status'] };

/** A plan, and the answer that it supposes if the request waits for one. */
export type Ahead = { plan: PlanRow; reply: Reply | null };

/** The answer that a plan can suppose; null if a person has to say more than yes. */
function supposed(questions: readonly SuspensionRow[]): ResumeOptions | null {
  const [only, ...others] = questions;
  const canApprove = only && others.length === 0 && only.allow.includes('approve') && !only.resumeSchema;
  return canApprove ? { suspension: only.id, reply: 'approve' } : null;
}

/** The plan of a resume. A request that waits goes on with an answer only; null if none can be supposed. */
export async function planAhead(host: Host, { request, status }: PlanQuestion): Promise<Ahead | null> {
  const questions = status === 'suspended' ? await host.suspensions({ request }) : [];
  const answer = supposed(questions);
  if (questions.length > 0 && !answer) return null;
  return { plan: await host.planResume(request, answer ?? {}), reply: answer?.reply ?? null };
}

const SUPPOSED: Record<Reply, string> = {
  approve: 'If approved',
  submit: 'If answered so',
  skip: 'If skipped',
  reject: 'If rejected',
};

/** What a plan supposes: `If approved`. */
export const supposedWords = (reply: Reply | null | undefined): string => (reply ? SUPPOSED[reply] : '');

/** A plan knows what ran before: the log says nothing of a model that was never asked. */
export const NOT_COUNTED = 'Blocks that have never run are not counted, nor the models they ask.';

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
  if (modelsAsked === 0) return mayAskMore ? ', perhaps model calls' : '';
  return `, ${mayAskMore ? 'at least ' : ''}${plural(modelsAsked, 'model call', 'model calls')}`;
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
  parts.push('blocks that never ran are not counted');
  return parts.join(' · ');
}

/** The same for the foot of a request. */
export function planSentence({ plan, reply }: Ahead): string {
  if (plan.error) return 'a resume would be refused: the flow does not fit the log';
  const again = plan.runsAgain > 0 ? `re-run ${thousands(plan.runsAgain)}` : 're-run nothing';
  const reused = plan.fromLog + (plan.insideFromLog ?? 0);
  const goesOn = plan.goesOn ? `continue ${thousands(plan.goesOn)}, ` : '';
  const words = `reuse ${thousands(reused)}, ${goesOn}${again}${modelWords(plan)}`;
  return `${supposedWords(reply) || 'Resume'}: ${words}, plus any blocks that never ran`;
}
