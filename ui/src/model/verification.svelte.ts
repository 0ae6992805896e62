// What the recorded runs do with the current code: verified for the Verify page, and in the background after a save,
// for the badges of the flows. The host verifies one thing at a time, so this is the only place that asks it to.
import { asFault, type Fault, type Host, type RunFileRow, type VerifiedRun } from '../host/host';
import type { Verified, VerifyProgress, VerifyQuery } from '../host/host';
import { badgesOf, keyOfRun, merged, shownOf, type Badge, type Shown } from './verdicts';

export type Source = 'requests' | 'files';

/** Editors save several files at once, and a person saves often. */
const [PAUSE_MS, PROGRESS_EVERY_MS] = [800, 100];
/** With more recorded requests than this, the background verifies those of the last days only. */
export const [MOST_IN_BACKGROUND, RECENT_DAYS] = [2000, 7];

export class Verification {
  source: Source = $state('requests');
  #shown: Record<Source, Shown | null> = $state.raw({ requests: null, files: null });
  /** Whether flows or requests changed after the verdicts were found. */
  #isStale = $state.raw({ requests: false, files: false });
  /** The `.run` files of the folder. */
  files: RunFileRow[] = $state.raw([]);
  busy = $state(false);
  progress: VerifyProgress | null = $state.raw(null);
  fault: Fault | null = $state.raw(null);
  badges: ReadonlyMap<string, Badge> = $state.raw(new Map());
  /** Whether the badges are about the newest runs only. */
  isRecent = $state(false);
  /** What the page shows, by key; kept while a person looks at a request and comes back. */
  group: string | null = $state(null);
  run: string | null = $state(null);
  /** The requests that are verified instead of all, as a person selected them. */
  only: readonly string[] | null = $state.raw(null);
  /** What the confirm sheet asks about. */
  toAccept: readonly VerifiedRun[] = $state.raw([]);

  #isOpen = false;
  #round = 0;
  /** How often another folder was opened. */
  #folder = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isInBackground = false;
  /** Something changed while the page verified. */
  #hasChanged = false;

  constructor(
    readonly host: Host,
    /** `loaded` is told when the host has verified. */
    readonly folder: { readonly isTrusted: boolean; loaded: () => void },
  ) {}

  get isTrusted(): boolean {
    return this.folder.isTrusted;
  }

  get shown(): Shown | null {
    return this.#shown[this.source];
  }

  get isStale(): boolean {
    return this.#isStale[this.source];
  }

  /** The page is on screen: what is not known yet, or no longer true, is found out. */
  open(): void {
    this.#isOpen = true;
    void this.#readFiles();
    if (!this.busy) this.#catchUp();
  }

  close(): void {
    this.#isOpen = false;
  }

  /** Verifies these requests only, also if they ran the current code; `null` is all again. */
  select(requests: readonly string[] | null): void {
    this.only = requests;
    this.source = 'requests';
    this.#shown = { ...this.#shown, requests: null };
    if (this.#isOpen && this.isTrusted) void this.verify();
  }

  choose(source: Source): void {
    if (source === this.source) return;
    this.source = source;
    this.fault = null;
    // What was verified for the other source ends with it; it is verified again when it is looked at again.
    this.#catchUp();
  }

  #catchUp() {
    if (this.isTrusted && (!this.shown || this.isStale)) void this.verify();
  }

  /** Verifies all runs of the source whose code has changed. */
  async verify(): Promise<void> {
    const { source } = this;
    // It covers what the background was about to verify.
    if (source === 'requests') clearTimeout(this.#timer);
    await this.#work(async (ask) => {
      if (source === 'files') await this.#readFiles();
      const files = this.files.map((one) => one.file);
      const query = source === 'files' ? { files } : this.only ? { requests: [...this.only], all: true } : {};
      // No file at all is no question: it would mean the requests of the database.
      const found = source === 'files' && files.length === 0 ? { results: [], notRun: 0 } : await ask(query);
      if (found) this.#show(source, shownOf(found, found.results));
    });
  }

  /** Replays also what runs with the code that it ran with: all of a flow, or of all flows. */
  async verifyAll(flow: string | null): Promise<void> {
    const { source } = this;
    if (source === 'files' || this.only) return this.verify();
    await this.#work(async (ask) => {
      const found = await ask({ all: true, ...(flow !== null && { flow }) });
      const known = this.#shown[source]?.runs ?? [];
      if (found) this.#show(source, shownOf(found, merged(known, found.results)), flow === null);
    });
  }

  /** Ends what is being verified. What has a verdict is shown. */
  async cancel(): Promise<void> {
    await this.host.cancelVerify();
  }

  /** Makes what these runs do now what is expected of them. Answers how many were accepted. */
  async accept(runs: readonly VerifiedRun[]): Promise<number> {
    const { source } = this;
    const keys = runs.map(keyOfRun);
    const query = source === 'files' ? { files: keys } : { requests: keys };
    let count = 0;
    await this.#work(async (ask) => {
      try {
        const accepted = await ask({ ...query, accept: true });
        count = accepted?.results.filter((run) => run.accepted).length ?? 0;
      } finally {
        // What is expected now is asked for, not assumed.
        const found = await ask(query);
        const known = this.#shown[source];
        if (found && known) this.#show(source, { ...known, runs: merged(known.runs, found.results) }, false);
      }
    }, true);
    return count;
  }

  /** A flow file changed, or requests came or went that verdicts are about. */
  changed(): void {
    this.#isStale = { requests: true, files: true };
    clearTimeout(this.#timer);
    if (!this.isTrusted) return;
    if (this.#isInBackground) void this.cancel().catch(() => {});
    this.#timer = setTimeout(() => void this.#afterPause(), PAUSE_MS);
  }

  /** Requests were deleted or imported. Without verdicts there is nothing to correct. */
  requestsChanged(): void {
    if (this.#shown.requests) this.changed();
  }

  /** Another folder is open. */
  clear(): void {
    if (this.busy || this.#isInBackground) void this.cancel().catch(() => {});
    clearTimeout(this.#timer);
    this.#round++;
    this.#folder++;
    this.#isInBackground = this.#hasChanged = false;
    this.#shown = { requests: null, files: null };
    this.#isStale = { requests: false, files: false };
    this.badges = new Map();
    Object.assign(this, { source: 'requests', files: [], busy: false, progress: null, fault: null });
    Object.assign(this, { isRecent: false, group: null, run: null, only: null, toAccept: [] });
  }

  async #afterPause() {
    if (this.busy) this.#hasChanged = true;
    else if (this.#isOpen && this.source === 'requests') await this.verify();
    else await this.#inBackground();
  }

  async #inBackground() {
    const round = ++this.#round;
    this.#isInBackground = true;
    try {
      const isMany = (await this.host.requests({ limit: 1, offset: MOST_IN_BACKGROUND })).length > 0;
      if (round !== this.#round) return;
      // Half of the processors stay with what a person does.
      const jobs = Math.max(1, Math.floor((navigator.hardwareConcurrency || 2) / 2));
      const query = { jobs, ...(isMany && { since: Date.now() - RECENT_DAYS * 86_400_000 }) };
      const found = await this.host.verify(query, () => {});
      this.folder.loaded();
      // What was cancelled says nothing of the whole; whoever cancelled it verifies next.
      if (round !== this.#round || found.notRun) return;
      if (isMany || this.only) {
        this.badges = badgesOf(found.results);
        this.isRecent = isMany;
      } else this.#show('requests', { runs: found.results, notRun: 0 });
    } catch {
      // Nobody asked for it: what is wrong is said where a person verifies.
    } finally {
      if (round === this.#round) this.#isInBackground = false;
    }
  }

  /** Does one thing at a time for the page. What the host was doing for this model before ends. */
  async #work(act: (ask: Ask) => Promise<void>, isThrown = false) {
    const round = ++this.#round;
    this.#isInBackground = false;
    Object.assign(this, { busy: true, progress: null, fault: null });
    let told = 0;
    const ask: Ask = async (query) => {
      const found = await this.host.verify(query, (progress) => {
        if (round !== this.#round || performance.now() - told < PROGRESS_EVERY_MS) return;
        told = performance.now();
        this.progress = progress;
      });
      if (round !== this.#round) return null;
      this.folder.loaded();
      return found;
    };
    try {
      await act(ask);
    } catch (thrown) {
      if (isThrown) throw thrown;
      if (round === this.#round) this.fault = asFault(thrown);
    } finally {
      if (round === this.#round) {
        this.busy = false;
        if (this.#hasChanged) this.changed();
        this.#hasChanged = false;
      }
    }
  }

  /** `isWhole`: all runs of the source were judged now. */
  #show(source: Source, shown: Shown, isWhole = true) {
    this.#shown = { ...this.#shown, [source]: shown };
    if (isWhole) this.#isStale = { ...this.#isStale, [source]: false };
    // A part of the verdicts would make the badges too small.
    if (source !== 'requests' || shown.notRun > 0 || this.only) return;
    this.badges = badgesOf(shown.runs);
    this.isRecent = false;
  }

  async #readFiles() {
    const folder = this.#folder;
    const files = await this.host.runFiles().catch(() => this.files);
    if (folder === this.#folder) this.files = files;
  }
}

type Ask = (query: VerifyQuery) => Promise<Verified | null>;
