// Which row of the timeline is active, and what keys do to it. Rows come and go while a request runs, so a row is kept
// by its node; its place is only where it was last seen.
import { tick } from 'svelte';
import type { FoundRow, ViewRow } from '../../host/host';
import type { AppModel } from '../../model/app.svelte';

export class Navigation {
  #node: number | null = $state.raw(null);
  #index = $state.raw(-1);
  /** The block that this selected last, so that a selection from elsewhere can be told. */
  #selected: string | null = null;
  #round = 0;

  constructor(
    readonly app: AppModel,
    readonly reveal: (index: number) => void,
  ) {}

  readonly index: number = $derived.by(() => {
    const { rows } = this.app.request;
    if (this.#index < 0) return -1;
    if (this.#node === null || rows.get(this.#index)?.node === this.#node) return Math.min(this.#index, rows.total - 1);
    const found = rows.indexOf((row) => row.node === this.#node);
    return found >= 0 ? found : Math.min(this.#index, rows.total - 1);
  });

  /** A block was selected, here or elsewhere; its row is looked for where it was not selected here. */
  async follow(block: string | null): Promise<void> {
    if (block === this.#selected && this.#index >= 0) return;
    this.#selected = block;
    const { request } = this.app;
    if (block === null) {
      this.#index = 0;
      this.#node = request.rows.get(0)?.node ?? null;
      return;
    }
    const known = request.rows.indexOf((row) => row.instanceId === block);
    if (known >= 0) return this.#take(known);
    const found = await this.app.try(() => request.rowOf({ instanceId: block }));
    if (found && block === this.#selected) this.#take(found.row, found.node);
  }

  /** Makes a row the active one; what is a block is also selected, at its end or at its start. */
  select(index: number, how: 'push' | 'replace', isStart = false): void {
    const row = this.app.request.rows.get(index);
    this.#take(index, row?.node ?? null);
    if (!row?.instanceId) return;
    this.#selected = row.instanceId;
    this.app.select(row.instanceId, how, isStart ? { seq: row.seqStart } : {});
  }

  /** Selects the row below the pointer, unless it is selected: its menu must not move a chosen instant. */
  point(index: number): void {
    const row = this.app.request.rows.get(index);
    if (index !== this.index || (row?.instanceId && row.instanceId !== this.app.selected))
      this.select(index, 'replace');
  }

  /** Goes to what was found, which may be a group. */
  arrive(found: FoundRow): void {
    this.#take(found.row, found.node);
    if (!found.instanceId) return;
    this.#selected = found.instanceId;
    this.app.select(found.instanceId, 'replace');
  }

  async fold(index: number, close: boolean): Promise<void> {
    const { request } = this.app;
    const row = request.rows.get(index);
    if (!row?.hasChildren) return;
    const [active, hiddenTo] = [this.index, index + this.#shownBelow(index, row)];
    if (close && active > index && active <= hiddenTo) this.#take(index, row.node, false);
    await this.app.try(() => request.fold(row.node, close));
  }

  /** Whether the key meant something here; with Shift the row is shown at its start. */
  key(name: string, page: number): boolean {
    const isStart = name.startsWith('Shift+');
    const key = isStart ? name.slice('Shift+'.length) : name;
    const { rows } = this.app.request;
    const [at, end] = [this.index, rows.total - 1];
    const steps: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: end,
    };
    const to = steps[key];
    if (to !== undefined) void this.#go(Math.min(end, Math.max(0, to)), isStart);
    else if (key === 'ArrowRight' || key === 'ArrowLeft') this.#across(key === 'ArrowRight', at);
    else return false;
    return true;
  }

  #across(isRight: boolean, at: number) {
    const row = this.app.request.rows.get(at);
    if (!row) return;
    if (isRight && row.hasChildren) void (row.isFolded ? this.fold(at, false) : this.#go(at + 1));
    if (isRight) return;
    if (row.hasChildren && !row.isFolded && !this.app.request.filter) return void this.fold(at, true);
    for (let above = at - 1; above >= 0; above--) {
      const one = this.app.request.rows.get(above);
      if (one && one.depth < row.depth) return void this.#go(above);
      if (!one) break;
    }
    // The row around it is not on this side of what was read; of a block it is known by its path.
    const path = row.path?.slice(0, Math.max(0, row.path.lastIndexOf('/')));
    if (path)
      void this.app.try(async () =>
        this.arrive((await this.app.request.rowOf({ path })) ?? { row: at, node: row.node, instanceId: '' }),
      );
  }

  /** A row far away is read first; only the last of several moves counts. */
  async #go(index: number, isStart = false) {
    const round = ++this.#round;
    const { rows } = this.app.request;
    this.#take(index, rows.get(index)?.node ?? null);
    if (!rows.get(index)) {
      // Only a list that was scrolled asks for its rows.
      await tick();
      await rows.settled();
    }
    if (round === this.#round) this.select(index, 'replace', isStart);
  }

  #take(index: number, node = this.app.request.rows.get(index)?.node ?? null, isShown = true) {
    this.#index = index;
    this.#node = node;
    if (isShown) this.reveal(index);
  }

  #shownBelow(index: number, row: ViewRow): number {
    const { rows } = this.app.request;
    let below = 0;
    while ((rows.get(index + below + 1)?.depth ?? -1) > row.depth) below++;
    return below;
  }
}
