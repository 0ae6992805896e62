// Answers that people give to the questions of requests.
import type { Fault, GoingOn, Host, ResumeOptions } from '../host/host';

/** Goes on with a request and its answer. An answer with data that the flow refuses would only put the same question
 * again, without a word; so its plan is asked first, and says why. */
export async function giveAnswer(host: Host, request: string, answer: ResumeOptions): Promise<GoingOn> {
  if (answer.data !== undefined && (answer.reply === 'submit' || answer.reply === 'approve')) {
    // What cannot be planned, such as a request that still runs, is answered all the same.
    const plan = await host.planResume(request, answer).catch(() => null);
    if (plan?.error) throw { kind: 'refused', message: plan.error.message } satisfies Fault;
  }
  return host.resume(request, answer);
}
