// The open workspace: its flows and the list of its sessions, kept current by notices.
// What is inside a session or a request belongs to others.
import type { FlowRow, Host, RequestStatus, SessionRow, Workspace as Info } from '../host/host';
import { LatestQuery } from './latest-query.svelte';
import { runnables, type Runnable } from './runnables';

const PAGE = 50;
const NEVER_BEFORE_MS = 400;

export class Workspace {
  readonly info;
  readonly flows;
  readonly sessions;
  search = $state('');
  status: RequestStatus | '' = $state('');
  #limit = $state(PAGE);

  constructor(host: Host) {
    this.info = new LatestQuery<null, Info>(() => host.workspace());
    this.flows = new LatestQuery<null, Awaited<ReturnType<Host['flows']>>>(() => host.flows(), 100);
    this.sessions = new LatestQuery<{ search: string; status: RequestStatus | ''; limit: number }, SessionRow[]>(
      ({ search, status, limit }) =>
        host.sessions({ search: search || null, status: status || null, limit, offset: 0 }),
      NEVER_BEFORE_MS,
    );
  }

  load(): void {
    this.info.ask(null, true);
    this.reloadFlows();
    this.reloadSessions();
  }

  /** Forgets a folder that is left; answers of it that are still under way are dropped. */
  clear(): void {
    for (const part of [this.info, this.flows, this.sessions]) part.clear();
    this.search = this.status = '';
    this.#limit = PAGE;
  }

  reloadFlows(): void {
    this.flows.ask(null, true);
  }

  reloadSessions(): void {
    this.sessions.ask({ search: this.search, status: this.status, limit: this.#limit }, true);
  }

  find(change: { search?: string; status?: RequestStatus | '' }): void {
    this.search = change.search ?? this.search;
    this.status = change.status ?? this.status;
    this.#limit = PAGE;
    this.reloadSessions();
  }

  /** A longer list instead of a second one: new sessions may arrive between two pages, and none may show twice. */
  more(): void {
    this.#limit += PAGE;
    this.reloadSessions();
  }

  get hasMore(): boolean {
    const { answer, question } = this.sessions;
    return answer !== null && question !== null && answer.length >= question.limit;
  }

  /** What a name of the address stands for: an action, or an entry by its address. */
  action(flow: string, name: string): { flow?: FlowRow; action?: Runnable } {
    const found = this.flows.answer?.find((one) => one.kind === flow);
    return { flow: found, action: found && runnables(found).find((one) => one.name === name) };
  }
}
