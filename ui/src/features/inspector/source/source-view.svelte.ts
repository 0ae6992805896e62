// The Source tab of one block execution: which file and line are shown, the statement that is stepped to, and where a
// print leads. It connects the answers about the inside of the block with the place of the window.
import { highlighted, plainLines, type Piece } from '../../../base/highlight';
import { VIEW } from '../../../place';
import { asFault, type BlockDetail, type BlockSource, type Fault, type Instant } from '../../../host/host';
import type { FileCoverage, ImportedSource, Move, PrintedHit, StackFrame } from '../../../host/host';
import type { AppModel } from '../../../model/app.svelte';
import { instanceOf, KeptInside } from './kept.svelte';
import { firstShown, partWith } from './lines';
import type { Print } from './prints.svelte';
import { Stepping } from './stepping.svelte';

export type ShownFile = { file: string; text: string; lines: Piece[][] };

export class SourceView {
  readonly stepping: Stepping;
  readonly kept: KeptInside;
  readonly request: string;
  shown: ShownFile = $state.raw({ file: '', text: '', lines: [] });
  /** The first line that is drawn. */
  first = $state(1);
  /** The line that keys act on. */
  cursor = $state(1);
  /** The line that comes into view; each request for one is a new object. */
  reveal: { line: number } = $state.raw({ line: 1 });
  coverage: FileCoverage[] | null = $state.raw(null);
  coverageFault: Fault | null = $state.raw(null);
  files: readonly ImportedSource[] = $state.raw([]);
  /** Why the file of the statement cannot be shown. */
  fileFault: string | null = $state(null);
  #round = 0;

  /** `onmove` is called before the window goes to another instant of this block. */
  constructor(
    readonly app: AppModel,
    readonly detail: BlockDetail,
    readonly source: BlockSource,
    lines: Piece[][],
    readonly onmove: () => void,
  ) {
    this.request = app.request.id ?? '';
    this.kept = KeptInside.of(app);
    const { path, attempt, error } = detail.block;
    this.stepping = new Stepping(
      (query) => app.host.stepInside(this.request, query),
      `${path}#${attempt}`,
      () => this.kept.watches,
      (instant) => this.#moved(instant),
    );
    const line = (error?.file === source.file && error.line) || source.from || 1;
    this.shown = { file: source.file, text: source.text, lines };
    this.first = firstShown(lines.length, line);
    this.cursor = line;
    this.reveal = { line };
  }

  /** Reads what the tab shows beside the text. A failed block opens at the statement that threw. */
  start(): void {
    const { app, kept, request } = this;
    const { seq } = app.request;
    kept.coverage(app, request, seq).then(
      (found) => (this.coverage = found),
      (thrown) => (this.coverageFault = asFault(thrown)),
    );
    kept.files(app, request, this.source.hash).then(
      (found) => (this.files = found),
      // The file of the block is shown all the same.
      () => {},
    );
    if (!this.followHit() && this.detail.block.status === 'failed') this.stepping.open();
  }

  stop(): void {
    this.stepping.stop();
    this.#round++;
  }

  /** Goes to the statement that a click on a hit asked for, if it is one of this execution. */
  followHit(): boolean {
    const { wanted } = this.kept;
    if (wanted?.instance !== this.detail.block.instanceId) return false;
    this.kept.wanted = null;
    this.stepping.goTo(wanted.tick);
    return true;
  }

  /** Goes to the next, or the last, time that a line of the shown file ran. */
  runTo(line: number, isBack: boolean): void {
    const { instant } = this.stepping;
    const file = instant?.file ?? this.source.file;
    if (file === this.shown.file) this.stepping.step(isBack ? { backTo: line } : { to: line });
    else this.app.window.said = `Step into ${this.shown.file} first: only lines of ${file} can be run to from here`;
  }

  step(to: Move): void {
    this.stepping.step(to);
  }

  print(line: number): Print {
    this.cursor = line;
    return this.kept.prints.open(this.shown.file, line);
  }

  /** Moves the whole window to the instant of a hit. */
  async follow(hit: PrintedHit): Promise<void> {
    const { route, window } = this.app;
    const instance = instanceOf(hit.requestId, hit.path, hit.attempt);
    this.kept.wanted = { instance, tick: hit.tick };
    if (this.followHit()) return;
    const place = { seq: hit.seq, block: instance };
    const { tab, audience } = route.place;
    if (hit.requestId === this.app.request.id) route.go(place);
    else route.to({ at: 'request', request: hit.requestId, session: null, ...VIEW, tab, audience, ...place });
    await route.settled();
    if (this.app.request.id === hit.requestId) window.inspectorTab = 'source';
  }

  /** Shows a line of a file that ran; moves nothing. */
  async show(file: string, line: number): Promise<void> {
    const round = ++this.#round;
    if (file !== this.shown.file) {
      const text = await this.#textOf(file);
      if (round !== this.#round) return;
      this.fileFault = text === null ? `The text of ${file} is not stored with this request.` : null;
      if (text === null) return;
      const lines = await highlighted(text).catch(() => plainLines(text));
      if (round !== this.#round) return;
      this.first = firstShown(lines.length, line);
      this.shown = { file, text, lines };
    }
    this.first = partWith(this.first, this.shown.lines.length, line);
    this.cursor = line;
    this.reveal = { line };
  }

  showFrame({ file, line }: StackFrame): void {
    void this.show(file, line);
  }

  async #textOf(file: string): Promise<string | null> {
    if (file === this.source.file) return this.source.text;
    const files = await this.kept.files(this.app, this.request, this.source.hash).catch(() => []);
    return files.find((one) => one.file === file)?.text ?? null;
  }

  #moved({ seq }: Instant) {
    this.onmove();
    this.app.route.go({ seq }, 'replace');
  }
}
