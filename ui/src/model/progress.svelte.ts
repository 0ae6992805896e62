// What a screen reader is told about progress, rarely enough to be listened to.
import type { Counts, RequestStatus } from '../host/host';

const SPEAK_EVERY_MS = 3000;

export class Progress {
  words = $state('');
  #spokenAt = 0;

  clear(): void {
    this.words = '';
    this.#spokenAt = 0;
  }

  tell(isLive: boolean, { blocks, finished, failed, suspended }: Counts, status: RequestStatus): void {
    if (isLive && Date.now() - this.#spokenAt < SPEAK_EVERY_MS) return;
    this.#spokenAt = Date.now();
    const failures = failed > 0 ? `, ${failed} failed` : '';
    // A block that waits has an end in the log, and is not finished.
    const waiting = status === 'suspended' ? suspended : 0;
    const waits = waiting > 0 ? `, ${waiting} waiting for an answer` : '';
    this.words = `${finished - waiting} of ${blocks} blocks finished${failures}${waits}. Request ${status.replace('_', ' ')}.`;
  }
}
