// The state of the window besides its place: dialogs, the last announcement, and the parts that receive commands.
import { isWriting } from '../base/keys';
import { recall, remember } from '../base/remember';
import type { Move } from '../host/host';
import type { Place } from '../place';
import type { ConversationPages } from './conversation.svelte';

/** A part on screen that executes commands. It exists as long as its component. */
export type TimelineAct = 'zoomIn' | 'zoomOut' | 'earlier' | 'later' | 'fit' | 'fitBlock' | 'find';
export type TimelinePart = { move: (key: string) => void; act: (what: TimelineAct) => void };
/** The source of a block that can be stepped through. `runToLine` goes to the line of the cursor. */
export type SourcePart = { step: (to: Move) => void; runToLine: (isBack: boolean) => void; print: () => void };
export type FormPart = { run: () => void; fires: boolean };

/** The sheets that can cover the window, one at a time. */
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

/** In a window narrower than the first the left pane is hidden, and narrower than the second the inspector as well. */
const [NARROW, NARROWER] = [1100, 760];

export class WindowModel {
  sheet: SheetName | null = $state(null);
  /** The path of the state whose history is shown, such as `session.topic`. */
  historyOf: string | null = $state(null);
  /** The announcement of the last action whose result is not visible elsewhere. */
  said = $state('');
  /** The path of the state for the sheet of writers; null asks for one. */
  writersOf: string | null = $state.raw(null);
  /** The initial text of the search. */
  searchFor = $state('');
  /** Whether the sheet that compares begins with another request; the sheet resets this. */
  comparesRequests = false;
  /** A file that was dropped on the window, for the import sheet. */
  file: string | null = $state(null);
  /** The id of the tab that the inspector must show next; null keeps the open one. */
  inspectorTab: string | null = $state(null);
  /** Shows the origin of the value selected in the inspector; null if there is no inspector. */
  explain: (() => void) | null = $state.raw(null);
  timeline: TimelinePart | null = $state.raw(null);
  form: FormPart | null = $state.raw(null);
  source: SourcePart | null = $state.raw(null);
  /** The session whose conversation is on screen. */
  conversation: ConversationPages | null = $state.raw(null);
  /** Whether the inspector shows a source, or is about to. */
  isSourceShown = $state(false);
  /** Whether the inspector is enlarged while it shows a source. */
  isSourceLarge = $state(false);
  /** Whether keys without Ctrl or Alt are shortcuts. They can be pressed by mistake, or by dictation software. */
  singleKeys = $state(recall('keys.single', true));

  /** The part that a person opened and that gets the focus as soon as it is on screen. */
  #leadTo: 'timeline' | 'form' | null = $state(null);
  /** The element that had the focus when that part was opened. */
  #leadFrom: Element | null = null;

  /**
   * The window shows another place. A part that was opened before and is not yet on screen no longer gets the
   * focus.
   */
  arrive(place: Place, before: Place): void {
    const keys = ['request', 'flow', 'action'] as const;
    this.#leadFrom = document.activeElement;
    // A tab that has not been shown by now was meant for the previous block.
    this.inspectorTab = null;
    if (keys.some((key) => place[key] !== before[key]))
      this.#leadTo = place.request ? 'timeline' : place.action ? 'form' : null;
    else if (place.tab !== before.tab) this.#leadTo = null;
  }

  /** Focuses a part on screen if it was opened for it; never takes the focus from a text field or a dialog. */
  lead(part: 'timeline' | 'form', focus: () => void): void {
    if (this.#leadTo !== part || this.sheet !== null) return;
    this.#leadTo = null;
    if (this.#wentElsewhere()) return;
    // First let a closing dialog restore the focus.
    setTimeout(() => {
      if (this.sheet === null && !isWriting(document.activeElement)) focus();
    });
  }

  /** Whether the person moved the focus in the meantime. The focus of a closed dialog does not count. */
  #wentElsewhere(): boolean {
    const { activeElement, body } = document;
    const isLeft = activeElement !== null && activeElement !== body && activeElement !== this.#leadFrom;
    return isLeft && (this.#leadFrom === body || this.#leadFrom?.isConnected === true);
  }

  /** Searches all recorded data for a text. */
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
  /** Whether the left pane is shown in a wide window and in a narrow one. */
  #left = $state({ wide: recall('pane.left', true), narrow: false });
  readonly #isNarrower = $derived(this.width < NARROWER);
  #right = $state({ wide: recall('pane.right', true), narrow: false });

  get isRightShown(): boolean {
    return this.#isNarrower ? this.#right.narrow : this.#right.wide;
  }

  get isLeftShown(): boolean {
    return this.#isNarrow ? this.#left.narrow : this.#left.wide;
  }

  /** Hiding a pane is remembered. A pane shown or hidden in a narrow window stays so until the program ends. */
  turnPane(pane: 'left' | 'right'): void {
    if (pane === 'right' && this.#isNarrower) this.#right.narrow = !this.#right.narrow;
    else if (pane === 'right') {
      this.#right.wide = !this.#right.wide;
      remember('pane.right', this.#right.wide);
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
