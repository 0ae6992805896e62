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

  tell(isLive: boolean, { blocks, finished, failed }: Counts, status: RequestStatus): void {
    if (isLive && Date.now() - this.#spokenAt < SPEAK_EVERY_MS) return;
    this.#spokenAt = Date.now();
    const failures = failed > 0 ? `, ${failed} failed` : '';
    this.words = `${finished} of ${blocks} blocks finished${failures}. Request ${status.replace('_', ' ')}.`;
  }
}
