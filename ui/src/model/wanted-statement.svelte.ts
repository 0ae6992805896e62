// The statement that a click elsewhere asked for: it is shown as soon as the block that ran it is. A hit of a print and a
// compared local lead to one.
import type { AppModel } from './app.svelte';

/** A statement of a block execution. */
export type Wanted = { instance: string; tick: number };

const KEY = 'wanted-statement';

class WantedStatement {
  now: Wanted | null = $state.raw(null);
}

/** What is wanted of a window. */
export function wantedStatement(app: AppModel): WantedStatement {
  const known = app.kept.get(KEY);
  if (known instanceof WantedStatement) return known;
  const made = new WantedStatement();
  app.kept.set(KEY, made);
  return made;
}
