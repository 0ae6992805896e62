// Everything that is open, laid on one app: the place decides what is read, answers arrive in the parts.
// It is the only module that knows all parts of the model; it draws nothing.
import type { BlockDetail, Host, RunOptions, Workspace as Info } from '../host/host';
import { HOME, type Place, type Tab, type View } from '../place';
import { openNewest, readFirst, selectCause } from './arrival';
import { CallBlocks } from './call-blocks.svelte';
import { focusOf, type CallFocus } from './calls';
import { askFocus } from './focus-details';
import { CulpritSearch } from './culprit.svelte';
import { EventPages } from './events.svelte';
import { Experiments } from './experiments.svelte';
import { instantShown, lastShown, seqShown, spanOf, type Known } from './instant-shown';
import { readFor } from './item-notes';
import { ItemPages } from './items.svelte';
import { Faults } from './faults.svelte';
import type { Router } from './route.svelte';
import { LatestQuery } from './latest-query.svelte';
import { heed } from './notices';
import { restoreLook } from './look';
import { rememberPlace, reopen } from './reopen';
import { OpenRequest } from './request.svelte';
import { isResumable, planAhead, type Ahead, type PlanQuestion } from './plan';
import { ShownTime } from './shown-time.svelte';
import { stateAt, type Instant, type StateAt } from './state-at';
import { SessionRequests } from './requests.svelte';
import { Runs } from './runs.svelte';
import { Verification } from './verification.svelte';
import { Watches } from './watches.svelte';
import { WindowModel } from './window.svelte';
import { Workspace } from './workspace.svelte';

type Selection = { request: string; block: string; stamp: string };

export class AppModel {
  readonly faults = new Faults();
  readonly window = new WindowModel();
  readonly workspace: Workspace;
  readonly request: OpenRequest;
  readonly events: EventPages;
  readonly calls: CallBlocks;
  readonly time: ShownTime;
  readonly stateAt: LatestQuery<Instant, StateAt>;
  readonly detail: LatestQuery<Selection, BlockDetail>;
  /** The Call that is looked at, or the tick; and the tick around it, whose input is the whole context. */
  readonly call: LatestQuery<Selection, BlockDetail>;
  readonly tick: LatestQuery<Selection, BlockDetail>;
  readonly items: ItemPages;
  /** What a resume of the open request would do. */
  readonly ahead: LatestQuery<PlanQuestion, Ahead | null>;
  readonly requests: SessionRequests;
  readonly runs: Runs;
  readonly verification: Verification;
  readonly experiments: Experiments;
  readonly culprit: CulpritSearch;
  readonly watches = new Watches();
  /** What the next run form starts with, when it was asked for from a finished request. */
  template: RunOptions | null = $state.raw(null);
  /** What features keep while the window is open and no place names, such as a half-written input. */
  readonly kept = new Map<string, unknown>();
  #unwatch = () => {};
  /** The database of the folder that is open; notices of another one, whose requests may still run, are not for us. */
  #database: string | null = null;

  constructor(
    readonly host: Host,
    readonly route: Router,
  ) {
    this.workspace = new Workspace(host);
    const look = () => this.#look();
    this.request = new OpenRequest(host, look, (update) => this.items.advance(update));
    this.calls = new CallBlocks(this.request, look);
    this.stateAt = new LatestQuery((instant) => stateAt(host, this.request, instant), 40);
    this.time = new ShownTime(this.request, () => (this.instant === this.request.seq ? null : this.instant));
    const block = ({ request, block }: Selection) => host.block(request, block);
    // A block that is not on screen says when it ended only then.
    this.detail = new LatestQuery(block, 100, look);
    [this.call, this.tick] = [new LatestQuery(block, 100), new LatestQuery(block, 100)];
    [this.items, this.events] = [new ItemPages(this.request), new EventPages(host)];
    this.ahead = new LatestQuery((question) => planAhead(host, question), 500);
    [this.requests, this.runs] = [new SessionRequests(host), new Runs(host)];
    this.verification = new Verification(host, this.workspace);
    [this.experiments, this.culprit] = [new Experiments(host), new CulpritSearch(host)];
    route.prepare = (route) => readFirst(this, route);
    route.onchange((place, before) => {
      this.window.arrive(place, before);
      this.#arrive(place, before);
      rememberPlace(this);
    });
  }

  /** The seq that is shown: the chosen one, or the newest. */
  get cursor(): number {
    const { seq } = this.route.place;
    return seq === null ? this.request.seq : Math.min(seq, Math.max(1, this.request.seq));
  }

  /** The event whose state is shown: the chosen one, the end of the selected block, or the newest. */
  get instant(): number {
    return seqShown(this.route.place, this.#known);
  }

  /** The event that is shown where it is not the newest: chosen, or the end of the selected block. */
  get pinned(): number | null {
    return this.route.place.seq !== null ? this.cursor : this.instant < this.request.seq ? this.instant : null;
  }

  get #known(): Known {
    const { seq, start, live, root } = this.request;
    return { seq, start, live, root, block: this.selected === null ? null : this.#blockOf(this.selected) };
  }

  get selected(): string | null {
    return this.route.place.block ?? this.request.root;
  }

  /** The tick or the Call that the Calls tab shows. */
  get focus(): CallFocus | null {
    return focusOf(this.calls.blocks, this.calls.byId, this.route.place.block, this.cursor);
  }

  get session(): string | null {
    return this.route.place.session ?? this.request.row?.sessionId ?? null;
  }

  async start(): Promise<void> {
    this.workspace.load();
    void this.try(() => this.request.connect());
    void reopen(this);
    restoreLook(this);
    this.#arrive(this.route.place, { ...this.route.place, session: null, request: null });
    void openNewest(this);
    await this.try(async () => {
      this.#unwatch = await this.host.watch((notice) => {
        const open = this.#database ?? this.workspace.info.answer?.dataFile;
        if (open && notice.workspace !== open) return;
        heed(this, notice);
      });
    });
  }

  stop(): void {
    this.#unwatch();
    this.request.disconnect();
    this.route.stop();
  }

  /** Does something that may fail; a failure becomes a note, never an unhandled rejection. */
  async try<T>(act: () => Promise<T>): Promise<T | undefined> {
    try {
      return await act();
    } catch (thrown) {
      this.faults.add(thrown);
      return undefined;
    }
  }

  async openWorkspace(dir: string): Promise<void> {
    this.entered(await this.host.chooseWorkspace(dir));
  }

  /** Another folder is open. */
  entered({ dataFile }: Info): void {
    this.#database = dataFile;
    // Nothing of the folder before may stay on screen, nor arrive late; nor what was typed for a flow of that name.
    const { workspace, runs, verification, experiments, culprit, kept } = this;
    for (const part of [workspace, runs, verification, experiments, culprit, kept]) part.clear();
    this.template = null;
    this.route.to(HOME);
    this.request.forgetAhead();
    this.requests.open(null);
    workspace.load();
  }

  openAction(flow: string, action: string | null): void {
    this.template = null;
    this.route.to(action === null ? { at: 'flow', flow } : { at: 'run', flow, action });
  }

  openSession(session: string): void {
    this.route.to({ at: 'session', session });
  }

  /** Opens a request; the page on screen stays until it can be shown, see `route.settled`. */
  openRequest(session: string | null, request: string, view: Partial<View> = {}): void {
    this.route.toRequest(request, session, 'push', view);
  }

  /** Opens a request of which only the id is known; its session is found by it. */
  findRequest(request: string, view: Partial<View> = {}): void {
    this.openRequest(null, request, view);
  }

  /** Moves the slider; the last event means following, because that is what the end of a growing run is. */
  seek(seq: number): void {
    const isEnd = seq >= this.request.seq;
    this.route.go(isEnd ? lastShown(this.route.place, this.#known) : { seq: Math.max(1, seq) }, 'replace');
  }

  /** Selects a block and shows the instant of its end; `seq` names another instant, such as its start. */
  select(block: string, how: 'push' | 'replace' = 'push', more: { tab?: Tab; seq?: number } = {}): void {
    this.route.go({ block, seq: null, ...more }, how);
  }

  #arrive(place: Place, before: Place) {
    if (place.session !== before.session) this.requests.open(place.session);
    if (place.request !== this.request.id) {
      const { stateAt, time, detail, call, tick, items, ahead, calls } = this;
      for (const part of [stateAt, time, detail, call, tick, items, ahead, calls]) part.clear();
      this.events.open(place.request);
      this.request.open(place.request, place.filter);
    }
    if (this.route.next === null) this.request.forgetAhead();
    this.#look();
  }

  /** Asks for what the place shows. Called when the place changes and when the request advances. */
  #look() {
    const { id, row } = this.request;
    if (!id || !row) return;
    void this.request.setFilter(this.route.place.filter);
    void selectCause(this);
    this.requests.open(row.sessionId);
    this.watches.open(row.flow);
    if (isResumable(row) && !this.host.isCopy) this.ahead.ask({ request: id, seq: row.lastSeq, status: row.status });
    else if (this.ahead.question) this.ahead.clear();
    const { cursor: seq, selected: block } = this;
    this.time.look();
    const { tab, audience } = this.route.place;
    if (seq > 0) this.stateAt.ask(instantShown(id, this.route.place, this.#known));
    this.request.rows.instant(this.route.place.seq === null ? null : seq);
    if (block) this.detail.ask({ request: id, block, stamp: this.stamp(block) });
    this.request.watchItems(tab === 'items');
    if (tab === 'items') this.items.show(readFor(audience), this.pinned);
    if (tab === 'calls') this.calls.read(id, this.request.seq, this.request.live);
    if (tab === 'calls' && this.focus) askFocus(this, id, this.focus);
  }

  /** While a block runs its detail grows with the request; once it ended, only its end matters. */
  stamp(block: string): string {
    const seqEnd = this.#blockOf(block)?.seqEnd;
    return seqEnd ? `ended ${seqEnd}` : `seq ${this.request.seq}`;
  }

  #blockOf(block: string) {
    const [row, read] = [this.request.rows.find(block), this.detail.answer?.block];
    const known = read?.instanceId === block ? read : null;
    return spanOf(row, known, this.request.live && this.route.place.seq === null);
  }
}
