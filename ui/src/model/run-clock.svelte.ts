// The clock of a running request, so that its bars and durations grow. It goes on less often once the request is older,
// because each time the window is painted again; `clock.ts` is the slow one of everything else.

/** How long a request of an age waits: at first its duration is told to a hundredth of a second. */
const untilNext = (ms: number): number => (ms < 10_000 ? 100 : 250);

export class RunClock {
  now = $state(Date.now());
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Goes on from now, for a request that began at a time; stops where nothing runs. */
  run(isRunning: boolean, from: number): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.now = Date.now();
    if (isRunning) this.#timer = setTimeout(() => this.run(true, from), untilNext(this.now - from));
  }
}
