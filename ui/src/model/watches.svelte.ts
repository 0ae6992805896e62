// State paths that the user watches, for each flow. They are always shown first.
import { recall, remember } from '../base/remember';

/** `of`: the path of the block that has the state; empty for scopes that exist only once. */
export type Watched = { scope: string; of: string; path: string };

const same = (a: Watched, b: Watched) => a.scope === b.scope && a.of === b.of && a.path === b.path;

export class Watches {
  list: readonly Watched[] = $state.raw([]);
  #flow = '';

  open(flow: string): void {
    if (flow === this.#flow) return;
    this.#flow = flow;
    const kept = recall<unknown>(`watch.${flow}`, []);
    const isWatched = (one: unknown): one is Watched =>
      typeof one === 'object' && one !== null && ['scope', 'of', 'path'].every((key) => key in one);
    this.list = Array.isArray(kept) ? kept.filter(isWatched) : [];
  }

  has(one: Watched): boolean {
    return this.list.some((other) => same(one, other));
  }

  turn(one: Watched): void {
    this.list = this.has(one) ? this.list.filter((other) => !same(one, other)) : [...this.list, one];
    remember(`watch.${this.#flow}`, this.list);
  }
}
