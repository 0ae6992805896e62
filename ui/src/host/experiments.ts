// What the window asks the host about experiments: forks of a request from one place, compared.
import type {
  Adopted,
  CulpritQuery,
  CulpritView,
  ExperimentRow,
  ExperimentView,
  TryPlan,
  TryProgress,
  TryQuery,
} from './bindings';

export type OnProgress = (progress: TryProgress) => void;

export interface ExperimentHost {
  /** What an experiment will take; nothing is run. */
  planTry(query: TryQuery): Promise<TryPlan>;
  /** Begins an experiment and runs it to its end. The first report of progress names it. */
  tryOut(query: TryQuery, onProgress: OnProgress): Promise<ExperimentView>;
  /** Runs the samples that are missing, with another budget or more samples; or scores all of them anew. */
  goOnTrying(experiment: string, changed: TryQuery, onProgress: OnProgress): Promise<ExperimentView>;
  /** What is left to do of an experiment, and what that will take; nothing is run. */
  planGoingOn(experiment: string, changed: TryQuery): Promise<TryPlan>;
  /** Stops the experiments and searches that this window runs. What has ended stays. */
  stopExperiments(): Promise<void>;
  /** Newest first. */
  experiments(limit: number, offset: number): Promise<ExperimentRow[]>;
  experiment(id: string): Promise<ExperimentView>;
  /** The edit of the source that makes an arm what the flow does; it is written if `write` says so. */
  adopt(experiment: string, arm: string, write: boolean): Promise<Adopted>;
  /** What a search for the deciding step may ask, all forks together; nothing is run. */
  planCulprit(query: CulpritQuery): Promise<TryPlan>;
  /** Looks for the step at which a failure was decided. */
  culprit(query: CulpritQuery, onProgress: OnProgress): Promise<CulpritView>;
}
