// The part of a request's time that is in view, shared by the overview, the axis and the bars. It is stored in axis
// positions, so that a growing request does not move the view.
import { recall, remember } from '../../base/remember';
import type { Overview } from '../../host/host';
import { LatestQuery } from '../../model/latest-query.svelte';
import type { OpenRequest } from '../../model/request.svelte';
import type { BarColour } from './bars';
import { axisOf, fitted, liveEnd, placeOf, timeAt, zoomed, type Axis, type Window } from './axis';

/** `isLive` is part of the question because only a request that ended has a critical path. */
type Question = { request: string | null; seq: number; isLive: boolean; width: number; isCut: boolean };
/** The event density of a stretch of time, in cells of equal duration, about one per pixel. Cut gaps have none. */
export type Density = Pick<Overview, 'from' | 'to' | 'cells' | 'failures'>;
type Answer = { overview: Overview; density: Density[] };

const NEVER_BEFORE_MS = 250;
/** The share of the view that is left free after the newest event. */
const END_ROOM = 0.05;

export class TimeRange {
  isCut: boolean = $state(recall('timeline.cut', true));
  isCritical: boolean = $state(recall('timeline.critical', false));
  colour: BarColour = $state(recall('timeline.colour', 'status'));
  /** The zoomed part; null shows all. */
  zoom: Window | null = $state.raw(null);
  /** Whether the newest event was in view at the last zoom; then the view follows it while the request runs. */
  #isAtEnd = $state.raw(false);
  readonly #overview: LatestQuery<Question, Answer>;

  /** Derived on its own because the clock changes often, but the end of the axis rarely. */
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

  /** `waitsUntil`: the current time while the request waits for an answer, so that the axis reaches to it. */
  constructor(
    readonly request: OpenRequest,
    readonly waitsUntil: () => number | null = () => null,
  ) {
    this.#overview = new LatestQuery((question) => this.#find(question), NEVER_BEFORE_MS);
  }

  get #gaps() {
    return this.#overview.answer?.overview.gaps ?? [];
  }

  /** The gaps of the log and, while the request waits, the time since its last event. */
  get #idle() {
    const { live, to } = this.request;
    const until = live ? null : this.waitsUntil();
    return until !== null && until > to ? [...this.#gaps, { from: to, to: until }] : this.#gaps;
  }

  get density(): readonly Density[] {
    return this.#overview.answer?.density ?? [];
  }

  /** Requests the density at a width. Reloads it when the request has new events. */
  look(width: number): void {
    if (width < 1 || this.request.seq === 0) return;
    const { id, seq, live } = this.request;
    this.#overview.ask({ request: id, seq, isLive: live, width: Math.round(width), isCut: this.isCut });
  }

  zoomBy(factor: number, share = 0.5): void {
    const { left, right } = this.window;
    this.#set(zoomed(this.window, factor, left + (right - left) * share, this.axis.length));
  }

  /** Moves by a share of the view. */
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
    // Keep the same times in view, although the length of the axis changes.
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

  /** The position of a time, as a share of the view. */
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

  /** If gaps are cut, requests the density piece by piece, because the cells of one answer have equal duration. */
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
