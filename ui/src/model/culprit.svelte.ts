// The search for the step at which the outcome of a request was decided. It goes on while a person looks at other
// requests; what it found is shown with its own.
import { asFault, type CulpritQuery, type CulpritView, type Fault, type Host, type TryProgress } from '../host/host';

export class CulpritSearch {
  /** What was asked last. */
  query: CulpritQuery | null = $state.raw(null);
  busy = $state(false);
  progress: TryProgress | null = $state.raw(null);
  found: CulpritView | null = $state.raw(null);
  fault: Fault | null = $state.raw(null);
  #round = 0;

  constructor(readonly host: Host) {}

  /** Whether there is something to show with a request. */
  isOf(request: string | null): boolean {
    return request !== null && this.query?.request === request;
  }

  /** Rejects if it was refused before anything ran. */
  start(query: CulpritQuery): Promise<void> {
    const round = ++this.#round;
    const before = { query: this.query, found: this.found, fault: this.fault };
    Object.assign(this, { query, busy: true, progress: null, found: null, fault: null });
    return new Promise((resolve, reject) => {
      const onProgress = (progress: TryProgress) => {
        if (round !== this.#round) return;
        this.progress = progress;
        resolve();
      };
      this.host.culprit(query, onProgress).then(
        (found) => {
          if (round !== this.#round) return;
          Object.assign(this, { busy: false, found });
          resolve();
        },
        (thrown: unknown) => {
          if (round !== this.#round) return;
          const isBegun = this.progress !== null;
          Object.assign(this, { busy: false, ...(isBegun ? { fault: asFault(thrown) } : before) });
          if (!isBegun) reject(thrown);
        },
      );
    });
  }

  async stop(): Promise<void> {
    await this.host.stopExperiments();
  }

  /** Nothing of it is shown any more. */
  clear(): void {
    if (this.busy) void this.stop().catch(() => {});
    this.#round++;
    Object.assign(this, { query: null, busy: false, progress: null, found: null, fault: null });
  }
}
