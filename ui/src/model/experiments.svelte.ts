// The experiments of the open folder: the list, the one that is shown, and what this window runs of them. An experiment
// goes on while a person looks at something else; the host keeps what has ended.
import { asFault, type ExperimentRow, type ExperimentView, type Fault, type Host } from '../host/host';
import type { TryProgress, TryQuery } from '../host/host';
import { LatestQuery } from './latest-query.svelte';

export const EXPERIMENT_PAGE = 100;
/** How often an experiment that runs is read again, at most. */
const READ_EVERY_MS = 250;

/** Why it is not complete, and which arms could not be run. */
type Ended = { stopped: ExperimentView['stopped']; errors: ReadonlyMap<string, string> };

/** What is asked anew of an experiment that goes on. */
export type Changed = Partial<TryQuery>;

export class Experiments {
  /** Newest first; null before they were read. */
  rows: ExperimentRow[] | null = $state.raw(null);
  hasMore = $state(false);
  /** Why the list could not be read. */
  listFault: Fault | null = $state.raw(null);
  readonly shown: LatestQuery<string, ExperimentView>;
  /** Progress of what this window runs, by the id of the experiment. */
  running: ReadonlyMap<string, TryProgress> = $state.raw(new Map());
  /** Why the last run of an experiment ended with an error. */
  faults: ReadonlyMap<string, Fault> = $state.raw(new Map());
  /** How the last run of an experiment in this window ended: the host tells it only then. */
  ended: ReadonlyMap<string, Ended> = $state.raw(new Map());
  /** Arms whose samples are shown. */
  unfolded: ReadonlySet<string> = $state.raw(new Set());
  /** Samples that are picked for a comparison, by their requests: two at most. */
  picked: readonly string[] = $state.raw([]);
  /** The arm or the sample that is looked at, as its row is called. */
  chosen: string | null = $state(null);
  /** The arm that the sheet of an edit is about. */
  arm: string | null = $state(null);

  /** How often another folder was opened. */
  #folder = 0;
  /** The experiment that is on screen, or was the last one. */
  #open: string | null = null;

  constructor(readonly host: Host) {
    this.shown = new LatestQuery((id) => host.experiment(id), READ_EVERY_MS);
  }

  /** Reads the list from its beginning. */
  async list(): Promise<void> {
    const folder = this.#folder;
    const wanted = Math.max(EXPERIMENT_PAGE, this.rows?.length ?? 0);
    await this.#read(folder, wanted, 0, []);
  }

  async more(): Promise<void> {
    const known = this.rows ?? [];
    await this.#read(this.#folder, EXPERIMENT_PAGE, known.length, known);
  }

  async #read(folder: number, count: number, offset: number, known: ExperimentRow[]) {
    try {
      const rows = await this.host.experiments(count + 1, offset);
      if (folder !== this.#folder) return;
      this.rows = [...known, ...rows.slice(0, count)];
      this.hasMore = rows.length > count;
      this.listFault = null;
    } catch (thrown) {
      if (folder === this.#folder) this.listFault = asFault(thrown);
    }
  }

  /** Shows an experiment. What was folded or picked belonged to the one before. */
  open(id: string): void {
    if (this.#open !== id) {
      this.#open = id;
      this.shown.clear();
      this.unfolded = new Set();
      this.picked = [];
      this.chosen = null;
    }
    this.shown.ask(id, true);
  }

  /** Begins an experiment; resolves with its id as soon as it has one, while it runs on. */
  start(query: TryQuery): Promise<string> {
    return new Promise((resolve, reject) => {
      let id: string | null = null;
      const folder = this.#folder;
      const onProgress = (progress: TryProgress) => {
        if (folder !== this.#folder) return;
        const isFirst = id === null;
        id ??= progress.experimentId ?? null;
        if (id === null) return;
        this.#tell(id, progress);
        if (!isFirst) return;
        void this.list();
        resolve(id);
      };
      this.host.tryOut(query, onProgress).then(
        (view) => {
          this.#ended(folder, view.id, view);
          resolve(view.id);
        },
        (thrown: unknown) => {
          if (id === null) reject(thrown);
          else this.#failed(folder, id, thrown);
        },
      );
    });
  }

  /** Goes on with an experiment, until it ends. */
  async goOn(id: string, changed: Changed): Promise<void> {
    const folder = this.#folder;
    this.#tell(id, { done: 0, of: 0, failed: 0 });
    try {
      const query = changed as TryQuery;
      const view = await this.host.goOnTrying(id, query, (progress) => {
        if (folder === this.#folder) this.#tell(id, progress);
      });
      this.#ended(folder, id, view);
    } catch (thrown) {
      this.#failed(folder, id, thrown);
    }
  }

  /** Requests were deleted or imported: samples may be among them. */
  requestsChanged(): void {
    if (this.rows) void this.list();
    if (this.#open !== null) this.#again(this.#open);
  }

  /** The experiment that is shown, with what its last run told. */
  get view(): ExperimentView | null {
    const view = this.shown.answer;
    const ended = view && this.ended.get(view.id);
    if (!ended) return view;
    const arms = view.arms.map((arm) => ({ ...arm, error: arm.error ?? ended.errors.get(arm.id) }));
    return { ...view, arms, stopped: ended.stopped };
  }

  async stop(): Promise<void> {
    await this.host.stopExperiments();
  }

  fold(arm: string): void {
    const unfolded = new Set(this.unfolded);
    if (!unfolded.delete(arm)) unfolded.add(arm);
    this.unfolded = unfolded;
  }

  /** A third sample takes the place of the one that was picked first. */
  pick(request: string): void {
    const others = this.picked.filter((one) => one !== request);
    this.picked = others.length < this.picked.length ? others : [...others, request].slice(-2);
  }

  clear(): void {
    if (this.running.size > 0) void this.stop().catch(() => {});
    this.#folder++;
    this.shown.clear();
    this.#open = null;
    this.running = new Map();
    this.faults = new Map();
    this.ended = new Map();
    this.unfolded = new Set();
    this.picked = [];
    Object.assign(this, { rows: null, hasMore: false, listFault: null, chosen: null, arm: null });
  }

  #tell(id: string, progress: TryProgress) {
    this.running = new Map(this.running).set(id, progress);
    this.faults = without(this.faults, id);
    this.ended = without(this.ended, id);
    this.#again(id);
  }

  #ended(folder: number, id: string, view: ExperimentView) {
    if (folder !== this.#folder) return;
    this.running = without(this.running, id);
    const errors = view.arms.flatMap(({ id: arm, error }): [string, string][] => (error ? [[arm, error]] : []));
    this.ended = new Map(this.ended).set(id, { stopped: view.stopped ?? null, errors: new Map(errors) });
    this.#again(id);
    void this.list();
  }

  #failed(folder: number, id: string, thrown: unknown) {
    if (folder !== this.#folder) return;
    this.running = without(this.running, id);
    this.faults = new Map(this.faults).set(id, asFault(thrown));
    this.#again(id);
    void this.list();
  }

  #again(id: string) {
    if (this.#open === id) this.shown.ask(id, true);
  }
}

function without<V>(map: ReadonlyMap<string, V>, key: string): ReadonlyMap<string, V> {
  if (!map.has(key)) return map;
  const left = new Map(map);
  left.delete(key);
  return left;
}
