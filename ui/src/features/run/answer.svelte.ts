// An answer to a question of a request while it is made: what is typed, what is wrong with it, and what was refused.
import { asFault, type Reply, type ResumeOptions, type SuspensionRow } from '../../host/host';
import { isContainer } from '../../base/json';
import { thrownWords } from '../../model/faults.svelte';
import { proposedData } from '../../model/question';
import { Draft } from './draft.svelte';
import { fieldOf } from './schema';

export class Answer {
  readonly draft: Draft | null;
  /** What is typed where the question has no schema. */
  free = $state('');
  reason = $state('');
  busy: Reply | null = $state(null);
  wrong: ReturnType<typeof thrownWords> | null = $state.raw(null);

  constructor(
    readonly question: SuspensionRow,
    readonly send: (answer: ResumeOptions) => Promise<void>,
  ) {
    this.draft = question.resumeSchema ? new Draft(fieldOf(question.resumeSchema)) : null;
    const proposed = this.takesData && !this.draft ? proposedData(question) : undefined;
    if (isContainer(proposed)) this.free = JSON.stringify(proposed, null, 2);
  }

  get takesData(): boolean {
    const { allow } = this.question;
    return allow.includes('submit') || (this.draft !== null && allow.includes('approve'));
  }

  /** What is typed, as data; a text that is no JSON is refused here, before anything is sent. */
  #given(reply: Reply): unknown {
    if (reply === 'reject') return this.reason.trim() || undefined;
    if (reply === 'skip') return undefined;
    if (this.draft) return this.draft.value;
    return reply === 'submit' && this.free.trim() ? JSON.parse(this.free) : undefined;
  }

  /** The answer that the first button would send as it is typed; null while that is not complete. */
  get supposed(): ResumeOptions | null {
    const { allow, id } = this.question;
    const reply = allow.includes('approve') ? 'approve' : allow.includes('submit') ? 'submit' : null;
    if (!reply || (this.draft && (this.draft.problems.length > 0 || this.draft.rawProblem))) return null;
    try {
      const data = this.#given(reply);
      return { suspension: id, reply, ...(data !== undefined && { data }) };
    } catch {
      return null;
    }
  }

  async give(reply: Reply): Promise<void> {
    const { draft } = this;
    if (this.busy) return;
    this.wrong = null;
    if (draft && reply !== 'skip' && reply !== 'reject') {
      draft.tried = true;
      if (draft.problems.length > 0 || draft.rawProblem) {
        const advice = 'Correct what is marked and answer again.';
        this.wrong = { title: 'The answer is not complete', message: '', advice };
        return;
      }
    }
    this.busy = reply;
    try {
      const data = this.#given(reply);
      await this.send({ suspension: this.question.id, reply, ...(data !== undefined && { data }) });
    } catch (thrown) {
      this.wrong = thrownWords(thrown);
      const fault = asFault(thrown);
      if (fault.kind === 'invalid') draft?.refuse(fault.details);
    } finally {
      this.busy = null;
    }
  }
}
