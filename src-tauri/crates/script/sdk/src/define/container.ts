// `container`: the item around what a sequencer or a router shows.

import type { Config } from './blocks';
import { text } from './tables';

/** The description of a block's container, or an error that says what is wrong with it. */
export function containerOf(container: unknown, where: string): Config | undefined {
  if (container === undefined) return undefined;
  const refuse = (what: string): never => {
    throw new TypeError(`${where}: ${what}`);
  };
  if (typeof container !== 'object' || container === null) {
    return refuse('container must be an object, like { component: "panel", label: "…" }');
  }
  const { component, label, metadata } = container as Config;
  if (component !== undefined && typeof component !== 'string') refuse('container.component must be a string');
  if (label !== undefined && typeof label !== 'string' && typeof label !== 'function') {
    refuse('container.label must be a string, or a function of the input');
  }
  if (metadata !== undefined && typeof metadata !== 'function' && (typeof metadata !== 'object' || metadata === null)) {
    refuse('container.metadata must be an object, or a function of the input');
  }
  return { component, label: text(label), metadata: text(metadata) };
}
