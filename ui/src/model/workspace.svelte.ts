// The open workspace: its flows, the list of its sessions and what waits for an answer, kept current by notices.
// What is inside a session or a request belongs to others.
import { addRecent } from '../base/remember';
import type { FlowRow, Host, ListedRequest, RequestRow, SuspensionRow, Workspace as Info } from '../host/host';
import { LatestQuery } from './latest-query.svelte';
import { runnables, type Runnable } from './runnables';
import { SessionPages } from './session-pages.svelte';

const WAITING_EVERY_MS = 1000;
/** How many requests are looked through for those that ask, and how many interrupted ones are listed. */
const MAX_ASKING = 200;
export const MAX_INTERRUPTED = 20;

/** A question, with the request that asks it where that is known. */
export type Waiting = SuspensionRow & { request?: ListedRequest };

export class Workspace {
  readonly info: LatestQuery<null, Info | null>;
  readonly flows;
  readonly sessions: SessionPages;
  /** What waits for a person, newest first. */
  readonly waiting;
  /** Requests whose process ended before they did and that can go on, the last one first. */
  readonly interrupted;
  /** Suspended and interrupted requests, newest first, each with whether it could be resumed with the current code. */
  readonly resumable: LatestQuery<null, RequestRow[]>;
  /** Whether it is known that no folder is open: none was chosen, or it could not be opened. */
  isNone = $state(false);

  constructor(host: Host) {
    this.info = new LatestQuery<null, Info | null>(async () => {
      const info = await host.workspace().catch((thrown: unknown) => {
        this.isNone = this.info.answer === null;
        throw thrown;
      });
      const isFirst = this.isNone && info !== null;
      this.isNone = info === null;
      // What was asked before it was open was refused.
      if (isFirst) {
        this.reloadFlows();
        this.reloadSessions();
      }
      if (info) addRecent('folder', info.dir);
      return info;
    });
    this.flows = new LatestQuery<null, Awaited<ReturnType<Host['flows']>>>(() => host.flows(), 100);
    this.sessions = new SessionPages(host);
    this.waiting = new LatestQuery<null, Waiting[]>(() => waiting(host), WAITING_EVERY_MS);
    this.interrupted = new LatestQuery<null, ListedRequest[]>(() => interrupted(host), WAITING_EVERY_MS);
    this.resumable = new LatestQuery<null, RequestRow[]>(
      () => host.waitingRequests(),
      WAITING_EVERY_MS,
      () => this.resumable.answer?.length && this.loaded(),
    );
  }

  load(): void {
    this.info.ask(null, true);
    this.reloadFlows();
    this.reloadSessions();
  }

  /** Forgets a folder that is left; answers of it that are still under way are dropped. */
  clear(): void {
    for (const part of [this.info, this.flows, this.sessions, this.waiting, this.interrupted, this.resumable])
      part.clear();
    this.isNone = false;
  }

  reloadFlows(): void {
    this.flows.ask(null, true);
    this.resumable.ask(null, true);
  }

  get isTrusted(): boolean {
    return this.info.answer?.isTrusted === true;
  }

  /** The host replayed requests, and loaded for it what was not loaded: flows that were read meanwhile may lack that, and
   * no notice tells of it. */
  loaded(): void {
    this.flows.ask(null, true);
  }

  reloadSessions(): void {
    this.sessions.reload();
    this.waiting.ask(null, true);
    this.interrupted.ask(null, true);
    this.resumable.ask(null, true);
  }

  /** What a name of the address stands for: an action, or an entry by its address. */
  action(flow: string, name: string): { flow?: FlowRow; action?: Runnable } {
    const found = this.flows.answer?.find((one) => one.kind === flow);
    return { flow: found, action: found && runnables(found).find((one) => one.name === name) };
  }
}

/** A trace of another program that broke off cannot go on here. */
async function interrupted(host: Host): Promise<ListedRequest[]> {
  const rows = await host.requests({ status: 'interrupted', byChange: true, limit: MAX_INTERRUPTED, offset: 0 });
  return rows.filter((row) => row.receivedFrom == null);
}

async function waiting(host: Host): Promise<Waiting[]> {
  const asked = await host.suspensions({ status: 'pending' });
  if (asked.length === 0) return asked;
  const requests = await host.requests({ status: 'suspended', byChange: true, limit: MAX_ASKING, offset: 0 });
  const known = new Map(requests.map((one) => [one.id, one]));
  return asked.map((one) => ({ ...one, request: known.get(one.requestId) }));
}
