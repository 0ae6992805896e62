// What the debugger keeps while the window is open and another block or request is looked at: watch expressions, prints,
// how often lines ran, and the statement that a click on a hit leads to.
import type { FileCoverage, ImportedSource } from '../../../host/host';
import type { AppModel } from '../../../model/app.svelte';
import { wantedStatement, type Wanted } from '../../../model/wanted-statement.svelte';
import { Prints } from './prints.svelte';

const KEY = 'inside';
/** Requests whose answers are kept. */
const MAX_REQUESTS = 8;

export class KeptInside {
  watches: readonly string[] = $state.raw([]);
  readonly prints = new Prints();
  readonly #coverage = new Map<string, Promise<FileCoverage[]>>();
  readonly #files = new Map<string, Promise<ImportedSource[]>>();

  constructor(readonly app: AppModel) {}

  static of(app: AppModel): KeptInside {
    const known = app.kept.get(KEY);
    if (known instanceof KeptInside) return known;
    const made = new KeptInside(app);
    app.kept.set(KEY, made);
    return made;
  }

  /** The statement of a block execution that is to be shown as soon as its block is. */
  get wanted(): Wanted | null {
    return wantedStatement(this.app).now;
  }
  set wanted(wanted: Wanted | null) {
    wantedStatement(this.app).now = wanted;
  }

  /** How often the lines of all files of a request ran. `seq` is how many events it has: a running request gets more. */
  coverage(app: AppModel, request: string, seq: number): Promise<FileCoverage[]> {
    return once(this.#coverage, `${request} ${seq}`, () => app.host.coverage(request, null));
  }

  /** The files of a code that a request ran. */
  files(app: AppModel, request: string, code: string): Promise<ImportedSource[]> {
    return once(this.#files, `${request} ${code}`, () => app.host.filesThatRan(request, code || null));
  }
}

/** Asks once for a key and keeps the newest answers; a failed question is asked again. */
function once<T>(kept: Map<string, Promise<T>>, key: string, ask: () => Promise<T>): Promise<T> {
  const known = kept.get(key);
  if (known) return known;
  const asked = ask();
  kept.set(key, asked);
  const [oldest] = kept.keys();
  if (kept.size > MAX_REQUESTS && oldest !== undefined) kept.delete(oldest);
  asked.catch(() => kept.delete(key));
  return asked;
}

export const instanceOf = (request: string, path: string, attempt: number): string => `${request}:${path}:${attempt}`;
