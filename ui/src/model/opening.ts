// Loads what the page of a request needs: its view with the wanted folds and filter, and the pause of a fork. It is
// also used to load a request ahead, while the previous page is still on screen.
import { asFault, type Fault, type Filtered, type Host, type ViewHead } from '../host/host';
import { arrange, type Folds } from './arrangement';
import { pauseOf, type Pause } from './pause';

export type Opened = {
  head: ViewHead;
  /** The filter, its result, and the number of rows; null if the view is unchanged. */
  wanted: string;
  filtered: Filtered | Fault | null;
  rows: number | null;
  pause: Pause | null;
};

/** Opens a view. If it is no longer wanted when it arrives, it is closed and the result is null. */
export async function openView(
  host: Host,
  id: string,
  { folds, filter, isWanted }: { folds: Folds; filter: () => string; isWanted: () => boolean },
): Promise<Opened | null> {
  const head = await host.openView(id);
  if (isWanted()) {
    const wanted = filter();
    const { rows, filtered } = await arrange(host, head.view, folds, wanted);
    const pause = await pauseOf(head.request, (seq) => host.viewTimeOf(head.view, seq));
    if (isWanted()) return { head, wanted, filtered, rows, pause };
  }
  closeView(host, head.view);
  return null;
}

export const closeView = (host: Host, view: number): void => void host.closeView(view).catch(() => {});

/** A request that is read before it is shown. */
export class Ahead {
  opened: Opened | null = null;
  fault: Fault | null = null;
  /** Resolves when the request has been read. */
  readonly read: Promise<void>;
  #isDropped = false;

  constructor(
    readonly host: Host,
    readonly id: string,
    readonly filter: string,
    connected: Promise<void>,
  ) {
    this.read = this.#read(connected);
  }

  drop(): void {
    this.#isDropped = true;
    if (this.opened) closeView(this.host, this.opened.head.view);
  }

  async #read(connected: Promise<void>) {
    const isWanted = () => !this.#isDropped;
    try {
      await connected.catch(() => {});
      if (this.#isDropped) return;
      this.opened = await openView(this.host, this.id, { folds: new Map(), filter: () => this.filter, isWanted });
    } catch (thrown) {
      this.fault = asFault(thrown);
    }
  }
}
