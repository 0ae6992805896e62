// The state of every scope at an instant of the open request, with what changed since the one it is compared with.
import type { Change, Host, StateView, ViewRow } from '../host/host';
import type { OpenRequest } from './request.svelte';

/** Compared with the event `base`; without one, with the start of the request (`isWhole`) or the step before. */
export type Instant = { request: string; seq: number; base: number | null; isWhole: boolean };
/** The state at an instant, with the instant it belongs to and the one it is compared with. */
export type StateAt = {
  seq: number;
  from: number;
  at: number;
  state: StateView;
  changes: Change[];
  flowChanges: Change[];
  /** The rows of the blocks that have a state of their own. */
  owners: ReadonlyMap<string, ViewRow>;
};
/** A fan-out leaves a state for every branch; more than so many are named by their ids alone. */
const MOST_OWNERS = 200;

export async function stateAt(host: Host, open: OpenRequest, instant: Instant): Promise<StateAt> {
  const { request, seq, base, isWhole } = instant;
  const from = base ?? (isWhole ? open.start : await open.stepBefore(seq));
  const [state, changes] = await Promise.all([host.stateAt(request, seq), host.diff(request, from, seq)]);
  const flowChanges = state.flowState ? await host.flowStateDiff(request, from, seq) : [];
  const owners = await ownersOf(open, state, changes);
  return { seq, from, at: state.at ?? open.row?.startedAt ?? 0, state, changes, flowChanges, owners };
}

/** Names and kinds of the blocks whose states are shown. */
async function ownersOf(open: OpenRequest, state: StateView, changes: readonly Change[]) {
  const ids = [...Object.keys(state.sequencers ?? {}), ...changes.flatMap((change) => change.instanceId ?? [])];
  const rows = await open.rowsOf([...new Set(ids)].slice(0, MOST_OWNERS));
  return new Map(rows.flatMap((row): [string, ViewRow][] => (row.instanceId ? [[row.instanceId, row]] : [])));
}
