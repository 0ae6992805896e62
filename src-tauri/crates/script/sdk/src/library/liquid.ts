// Templates in Liquid, with limits: what is not there is an error, and no template runs without end.

import { Liquid } from 'liquidjs/dist/liquid.browser.mjs';

export const LONGEST_TEMPLATE = 512 * 1024;
const LONGEST_RENDER_MS = 5_000;
const MOST_MEMORY = 1e8;

export type Filters = Record<string, (value: unknown, ...args: unknown[]) => unknown>;
export type Fragments = Record<string, string>;

export interface Engine {
  parse(template: string): unknown[];
  render(template: unknown[], scope: object): Promise<string>;
  renderSync(template: unknown[], scope: object): string;
}

/** `isStrict` makes a variable that is not there an error; in a condition it never is. */
export function templates(fragments: Fragments = {}, filters: Filters = {}, isStrict = true): Engine {
  const engine = new Liquid({
    extname: '',
    strictVariables: isStrict,
    strictFilters: true,
    ownPropertyOnly: true,
    lenientIf: true,
    parseLimit: LONGEST_TEMPLATE,
    renderLimit: LONGEST_RENDER_MS,
    memoryLimit: MOST_MEMORY,
    templates: fragments,
  });
  for (const [name, filter] of Object.entries(filters)) engine.registerFilter(name, filter);
  return engine as unknown as Engine;
}
