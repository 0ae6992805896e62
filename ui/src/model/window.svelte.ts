// What the window has open besides a place: dialogs, one line that was said, and the parts that take commands.
import { isWriting } from '../base/keys';
import { recall, remember } from '../base/remember';
import type { Move } from '../host/host';
import type { Place } from '../place';
import type { ConversationPages } from './conversation.svelte';

/** A part that is on screen and does what commands ask. It comes and goes with its component. */
export type TimelineAct = 'zoomIn' | 'zoomOut' | 'earlier' | 'later' | 'fit' | 'fitBlock' | 'find';
export type TimelinePart = { move: (key: string) => void; act: (what: TimelineAct) => void };
/** The source of a block that can be stepped through. `runToLine` goes to the line of the cursor. */
export type SourcePart = { step: (to: Move) => void; runToLine: (isBack: boolean) => void; print: () => void };
export type FormPart = { run: () => void; fires: boolean };

/** What may lie over the window; one at a time. */
export type SheetName =
  | 'palette'
  | 'keys'
  | 'folder'
  | 'resume'
  | 'retry'
  | 'fork'
  | 'replay'
  | 'search'
  | 'history'
  | 'diff'
  | 'check'
  | 'stats'
  | 'compact'
  | 'export'
  | 'keep'
  | 'mcp'
  | 'serve'
  | 'runnable'
  | 'accept'
  | 'try'
  | 'score'
  | 'adopt'
  | 'culprit'
  | 'import'
  | 'delete'
  | 'tag'
  | 'flame'
  | 'exportRuns'
  | 'deleteRuns';

/** In a narrower window the left pane gives its room to the centre. */
const NARROW = 1100;

export class WindowModel {
  sheet: SheetName | null = $state(null);
  /** The place of the state whose history is shown beside it, as `session.topic`. */
  historyOf: string | null = $state(null);
  /** The last thing that was done and cannot be seen anywhere else. */
  said = $state('');
  /** The place that the sheet of writers is opened for; null asks for one. */
  writersOf: string | null = $state.raw(null);
  /** The text that the sheet of the search begins with. */
  searchFor = $state('');
  /** Whether the sheet that compares begins with another request; it takes this back. */
  comparesRequests = false;
  /** A file that was dropped on the window, for the sheet that asks about it. */
  file: string | null = $state(null);
  /** The tab that the inspector is to show next, by its id; null leaves the one that is open. */
  inspectorTab: string | null = $state(null);
  /** Shows where the value comes from that is selected in the inspector, while one is there. */
  explain: (() => void) | null = $state.raw(null);
  timeline: TimelinePart | null = $state.raw(null);
  form: FormPart | null = $state.raw(null);
  source: SourcePart | null = $state.raw(null);
  /** The session whose conversation is on screen. */
  conversation: ConversationPages | null = $state.raw(null);
  /** Whether the inspector shows a source, or is about to. */
  isSourceShown = $state(false);
  /** Whether the inspector takes as much room as it can get while it shows a source. */
  isSourceLarge = $state(false);
  /** Keys without Ctrl or Alt can be pressed by mistake, or by what somebody dictates. */
  singleKeys = $state(recall('keys.single', true));

  /** What was opened by a person and gets the focus as soon as it is on screen. */
  #leadTo: 'timeline' | 'form' | null = $state(null);
  /** What had the focus when it was opened. */
  #leadFrom: Element | null = null;

  /** Another place was gone to. What was opened before it came to the screen is no longer waited for. */
  arrive(place: Place, before: Place): void {
    const keys = ['request', 'flow', 'action'] as const;
    this.#leadFrom = document.activeElement;
    // A tab that nobody has shown by now was meant for the block that was selected before.
    this.inspectorTab = null;
    if (keys.some((key) => place[key] !== before[key]))
      this.#leadTo = place.request ? 'timeline' : place.action ? 'form' : null;
    else if (place.tab !== before.tab) this.#leadTo = null;
  }

  /** Gives the focus to a part that is on screen, if it is awaited; never takes it from a text or from a dialog. */
  lead(part: 'timeline' | 'form', focus: () => void): void {
    if (this.#leadTo !== part || this.sheet !== null) return;
    this.#leadTo = null;
    if (this.#wentElsewhere()) return;
    // A dialog that closes gives the focus back to where it was first.
    setTimeout(() => {
      if (this.sheet === null && !isWriting(document.activeElement)) focus();
    });
  }

  /** Whether somebody moved the focus while they waited; a dialog that closed took its own along. */
  #wentElsewhere(): boolean {
    const { activeElement, body } = document;
    const isLeft = activeElement !== null && activeElement !== body && activeElement !== this.#leadFrom;
    return isLeft && (this.#leadFrom === body || this.#leadFrom?.isConnected === true);
  }

  /** Looks for a text in everything that was recorded. */
  searchAll(text: string): void {
    this.searchFor = text;
    this.sheet = 'search';
  }

  askWriters(place: string): void {
    this.writersOf = place;
    this.sheet = 'history';
  }

  /** How wide the window is. */
  width = $state(1280);
  readonly #isNarrow = $derived(this.width < NARROW);
  /** Whether the left pane is shown where there is room for it, and in a narrow window. */
  #left = $state({ wide: recall('pane.left', true), narrow: false });
  isRightShown = $state(recall('pane.right', true));

  get isLeftShown(): boolean {
    return this.#isNarrow ? this.#left.narrow : this.#left.wide;
  }

  /** A pane that was put away stays away; one that was opened in a narrow window does so until the program ends. */
  turnPane(pane: 'left' | 'right'): void {
    if (pane === 'right') {
      this.isRightShown = !this.isRightShown;
      remember('pane.right', this.isRightShown);
    } else if (this.#isNarrow) this.#left.narrow = !this.#left.narrow;
    else {
      this.#left.wide = !this.#left.wide;
      remember('pane.left', this.#left.wide);
    }
  }

  turnSingleKeys(): void {
    this.singleKeys = !this.singleKeys;
    remember('keys.single', this.singleKeys);
    this.said = this.singleKeys ? 'Single-key shortcuts are on' : 'Single-key shortcuts are off';
  }
}
