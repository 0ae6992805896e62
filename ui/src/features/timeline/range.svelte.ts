// Which part of a request's time is in view, shared by the overview, the axis and the bars. Places are those of the
// axis, so that a cut or a growing request moves nothing that is looked at.
import { recall, remember } from '../../base/remember';
import type { Overview } from '../../host/host';
import { LatestQuery } from '../../model/latest-query.svelte';
import type { OpenRequest } from '../../model/request.svelte';
import type { BarColour } from './bars';
import { axisOf, fitted, liveEnd, placeOf, timeAt, zoomed, type Axis, type Window } from './axis';

/** Whether it still runs is part of the question: only what ended has a critical path. */
type Question = { request: string | null; seq: number; isLive: boolean; width: number; isCut: boolean };
/** How dense a stretch of time is: a cell for each pixel or so, even in time. What is cut has none. */
export type Density = Pick<Overview, 'from' | 'to' | 'cells' | 'failures'>;
type Answer = { overview: Overview; density: Density[] };

const NEVER_BEFORE_MS = 250;
/** The share of the view that is left free behind the newest. */
const END_ROOM = 0.05;

export class TimeRange {
  isCut: boolean = $state(recall('timeline.cut', true));
  isCritical: boolean = $state(recall('timeline.critical', false));
  colour: BarColour = $state(recall('timeline.colour', 'status'));
  /** What was zoomed to; null shows all. */
  zoom: Window | null = $state.raw(null);
  /** Whether the newest was in view when it was zoomed to: then it stays there while the request runs. */
  #isAtEnd = $state.raw(false);
  readonly #overview: LatestQuery<Question, Answer>;

  /** By itself, because the clock goes on often, and the end of the axis seldom. */
  readonly #end: number = $derived.by(() => {
    const { from, to, live, now } = this.request;
    if (live) return liveEnd(from, Math.max(to, now), this.isCut ? this.#gaps : []);
    return Math.max(to, this.waitsUntil() ?? to);
  });
  readonly axis: Axis = $derived.by(() => {
    const { from, pause } = this.request;
    return axisOf({ from, to: this.#end }, this.#idle, this.isCut, pause);
  });
  readonly window: Window = $derived(this.#clamped());
  readonly hasCuts: boolean = $derived(this.axis.pieces.some((piece) => piece.isCut && piece.size > 0));

  /** `waitsUntil`: the time of day while the request waits for an answer, which the axis reaches to. */
  constructor(
    readonly request: OpenRequest,
    readonly waitsUntil: () => number | null = () => null,
  ) {
    this.#overview = new LatestQuery((question) => this.#find(question), NEVER_BEFORE_MS);
  }

  get #gaps() {
    return this.#overview.answer?.overview.gaps ?? [];
  }

  /** The gaps of the log, and the time since its last event that the request has waited. */
  get #idle() {
    const { live, to } = this.request;
    const until = live ? null : this.waitsUntil();
    return until !== null && until > to ? [...this.#gaps, { from: to, to: until }] : this.#gaps;
  }

  get density(): readonly Density[] {
    return this.#overview.answer?.density ?? [];
  }

  /** Asks for the density at a width; it is asked again when the request has gone on. */
  look(width: number): void {
    if (width < 1 || this.request.seq === 0) return;
    const { id, seq, live } = this.request;
    this.#overview.ask({ request: id, seq, isLive: live, width: Math.round(width), isCut: this.isCut });
  }

  zoomBy(factor: number, share = 0.5): void {
    const { left, right } = this.window;
    this.#set(zoomed(this.window, factor, left + (right - left) * share, this.axis.length));
  }

  /** Moves by a share of what is in view. */
  pan(share: number): void {
    const { left, right } = this.window;
    const by = (right - left) * share;
    if (this.zoom) this.#set(fitted({ left: left + by, right: right + by }, this.axis.length));
  }

  show(window: Window): void {
    this.#set(fitted(window, this.axis.length));
  }

  /** Shows a stretch of time with a little room around it. */
  showTimes(from: number, to: number): void {
    const [left, right] = [placeOf(this.axis, from), placeOf(this.axis, to)];
    const room = Math.max(1, (right - left) * 0.1);
    this.show({ left: left - room, right: right + room });
  }

  fit(): void {
    this.#set(null);
  }

  setCut(isCut: boolean): void {
    // What is in view stays in view, though the axis gets another length.
    const times = this.zoom && [timeAt(this.axis, this.zoom.left), timeAt(this.axis, this.zoom.right)];
    this.isCut = isCut;
    remember('timeline.cut', isCut);
    if (times) this.show({ left: placeOf(this.axis, times[0] ?? 0), right: placeOf(this.axis, times[1] ?? 1) });
  }

  setCritical(isCritical: boolean): void {
    this.isCritical = isCritical;
    remember('timeline.critical', isCritical);
  }

  setColour(colour: BarColour): void {
    this.colour = colour;
    remember('timeline.colour', colour);
  }

  /** Where a time is, as a share of what is in view. */
  shareOf(time: number): number {
    const { left, right } = this.window;
    return (placeOf(this.axis, time) - left) / Math.max(1e-9, right - left);
  }

  timeOf(share: number): number {
    const { left, right } = this.window;
    return timeAt(this.axis, left + (right - left) * share);
  }

  #set(window: Window | null) {
    this.zoom = window;
    this.#isAtEnd = window !== null && window.right >= placeOf(this.axis, this.#newest());
  }

  #newest(): number {
    return this.request.live ? Math.max(this.request.now, this.request.to) : this.request.to;
  }

  #clamped(): Window {
    const { length } = this.axis;
    if (this.zoom && this.#isAtEnd && this.request.live) {
      const size = this.zoom.right - this.zoom.left;
      const right = placeOf(this.axis, this.#newest()) + size * END_ROOM;
      return fitted({ left: right - size, right }, length) ?? { left: 0, right: length };
    }
    return (this.zoom && fitted(this.zoom, length)) ?? { left: 0, right: length };
  }

  /** The density is asked for piece by piece where something is cut, because cells are even in time. */
  async #find({ width, isCut }: Question): Promise<Answer> {
    const overview = await this.request.overview(width);
    if (!overview) throw new Error('The request was closed.');
    const axis = axisOf(overview, overview.gaps, isCut, this.request.pause);
    if (!axis.pieces.some((piece) => piece.isCut)) return { overview, density: [overview] };
    const shown = axis.pieces.filter((piece) => !piece.isCut);
    const parts = shown.map(({ size, from, to }) =>
      this.request.overview(Math.max(1, Math.round((size / axis.length) * width)), from, to),
    );
    return { overview, density: (await Promise.all(parts)).filter((part) => part !== null) };
  }
}
