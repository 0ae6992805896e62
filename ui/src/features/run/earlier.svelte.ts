// What an action was given before, newest first. Inputs are read one at a time, when somebody goes to them.
import type { Host } from '../../host/host';

const MAX_INPUTS = 30;

export class EarlierInputs {
  /** Which one is shown, from 0; null before anybody went back. */
  at: number | null = $state(null);
  #requests: { id: string; startedAt: number }[] | null = null;

  constructor(
    readonly host: Host,
    readonly flow: string,
    readonly action: string,
  ) {}

  /** The next older one (1), or the next newer one (-1); nothing where there is none. */
  async step(by: 1 | -1): Promise<{ input: unknown; startedAt: number } | null> {
    this.#requests ??= await this.#read();
    const next = this.at === null ? (by === 1 ? 0 : -1) : this.at + by;
    const request = this.#requests[next];
    if (!request) return null;
    this.at = next;
    // The root block of a request is asked exactly what the request was.
    const { input } = await this.host.block(request.id, `${request.id}:root:0`);
    return { input, startedAt: request.startedAt };
  }

  async #read() {
    const { flow, action } = this;
    return this.host.requests({ flow, action, limit: MAX_INPUTS, offset: 0 });
  }
}

/** Whether a key goes to another input: ↑ and ↓ with Alt, and alone at the top of the JSON, where they do nothing else. */
export function stepOfKey(event: KeyboardEvent, hasGoneBack: boolean): 1 | -1 | null {
  const by = event.key === 'ArrowUp' ? 1 : event.key === 'ArrowDown' ? -1 : null;
  if (by === null || event.ctrlKey || event.metaKey || event.shiftKey) return null;
  if (event.altKey) return by;
  const { target } = event;
  if (!(target instanceof HTMLTextAreaElement) || target.dataset.testid !== 'raw-json') return null;
  const isAtTop = target.selectionStart === 0 && target.selectionEnd === 0;
  return isAtTop && (by === 1 || hasGoneBack) ? by : null;
}
