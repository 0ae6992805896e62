// The open views of a recorded host and the channel that tells what advanced: one batch at a time, and the next one
// only when the window has answered the one before.
import { FakeView } from './fake-view';
import type { BlockQuery, Fault, FindQuery, FoldQuery, ItemsQuery, OverviewQuery, RowsQuery, StepQuery } from './host';
import type { ViewBatch, ViewItems } from './host';
import type { Recording } from './recording';

export abstract class FakeViews {
  readonly #views = new Map<number, FakeView>();
  readonly #changed = new Set<number>();
  #listener: ((batch: ViewBatch) => void) | null = null;
  #underWay: number | null = null;
  #batches = 0;
  #opened = 0;

  protected abstract find(requestId: string): Recording;

  async openView(requestId: string) {
    const view = this.viewOf(++this.#opened, this.find(requestId));
    this.#views.set(view.id, view);
    return view.head();
  }
  async closeView(view: number) {
    this.#views.delete(view);
  }
  async viewRows(view: number, query: RowsQuery) {
    return structuredClone(this.#view(view).rows(query));
  }
  async viewItems(view: number, query: ItemsQuery): Promise<ViewItems> {
    return structuredClone(this.#view(view).recording.items(query));
  }
  async viewWatchItems(view: number, watching: boolean) {
    this.#view(view).isTellingItems = watching;
  }
  async viewFold(view: number, fold: FoldQuery) {
    return this.#view(view).fold(fold);
  }
  async viewFilter(view: number, text: string) {
    return this.#view(view).filter(text);
  }
  async viewFind(view: number, query: FindQuery) {
    return this.#view(view).find(query);
  }
  async viewRowOf(view: number, query: BlockQuery) {
    return this.#view(view).rowOf(query);
  }
  async viewStep(view: number, query: StepQuery) {
    return this.#view(view).step(query);
  }
  async viewSeqAt(view: number, time: number) {
    return this.#view(view).seqAt(time);
  }
  async viewTimeOf(view: number, seq: number) {
    return this.#view(view).timeOf(seq);
  }
  async viewBlocks(view: number, instanceIds: string[]) {
    return structuredClone(this.#view(view).blocks(instanceIds));
  }
  async viewCalls(view: number, afterSeq: number) {
    const { calls } = this.#view(view).recording.recorded;
    const blocks = calls.blocks.filter((block) => block.seqStart > afterSeq || (block.seqEnd ?? Infinity) > afterSeq);
    return structuredClone({ seq: calls.seq, blocks });
  }
  async viewOverview(view: number, query: OverviewQuery) {
    return structuredClone(this.#view(view).overview(query));
  }
  async viewUpdates(onBatch: (batch: ViewBatch) => void) {
    this.#listener = onBatch;
    return () => void (this.#listener = null);
  }
  async viewAck(batch: number) {
    if (batch !== this.#underWay) return;
    this.#underWay = null;
    this.#send();
  }

  protected viewOf(view: number, recording: Recording): FakeView {
    return new FakeView(view, recording);
  }

  /** Something was appended to a request: the views of it tell so as soon as they may. */
  protected advance(recording: Recording) {
    for (const view of this.#views.values()) if (view.recording === recording) this.#changed.add(view.id);
    this.#send();
  }

  #send() {
    if (!this.#listener || this.#underWay !== null || this.#changed.size === 0) return;
    const updates = [...this.#changed].flatMap((id) => this.#views.get(id)?.update() ?? []);
    this.#changed.clear();
    this.#underWay = ++this.#batches;
    const batch = { batch: this.#underWay, updates };
    const tell = this.#listener;
    queueMicrotask(() => tell(batch));
  }

  #view(id: number): FakeView {
    const found = this.#views.get(id);
    if (!found) throw { kind: 'notFound', message: `There is no view ${id}; it was closed.` } satisfies Fault;
    return found;
  }
}
