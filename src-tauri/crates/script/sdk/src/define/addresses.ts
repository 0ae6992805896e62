// Where dispatchers send to, and whether the flow has such an entry: a mistake is told where the flow is defined.

import type { Block } from './blocks';

/** Where hosts keep what can start another request, and where a context has it. */
export const DISPATCH_SEAM = Symbol.for('@flow-state-dev/dispatch-seam');

/** Where a dispatcher sends to. */
export interface Address {
  type: 'internal' | 'task';
  target: string;
  /** Another flow; its own when absent. */
  flowKind?: string;
}

/** Where a block sends to, if it is a dispatcher. */
const addressedBy = (block: Block): Address | undefined => block.config.dispatch as Address | undefined;

/** Refuses a flow with a dispatcher to an entry of its own that is not there. */
export function checkAddresses(
  kind: string,
  roots: readonly Block[],
  has: (type: string, name: string) => boolean,
): void {
  const seen = new Set<Block>();
  const waiting = [...roots];
  for (let block = waiting.pop(); block; block = waiting.pop()) {
    if (seen.has(block)) continue;
    seen.add(block);
    const to = addressedBy(block);
    if (to && to.flowKind === undefined && !has(to.type, to.target)) {
      throw new Error(
        `Flow "${kind}": dispatcher "${block.name}" addresses the ${to.type} entry "${to.target}", which the flow does ` +
          `not declare: add ${to.type}: { actions: { ${JSON.stringify(to.target)}: { block } } }`,
      );
    }
    for (const child of block.children) waiting.push(child);
  }
}
