// `block.run(input, ctx)`: an author's function runs a block inside its own (SEMANTICS §2.10).
//
// Must not: run anything itself. The engine does, with a path, attempts and a commit of the block's own.

import { describeValue } from '../base/arguments';
import { askJson, currentToken, LOAD, wire } from '../base/host';
import { toJson } from '../base/values';
import type { Block } from './blocks';

/** Gives the token of a context. */
export const TOKEN = Symbol('token');

/** Describes a block to the engine; set by what knows how, which needs blocks itself. */
let describe: (block: Block) => string = () => '';

export function describeBy(how: (block: Block) => string): void {
  describe = how;
}

/** Runs a block as the block whose context this is; as the one whose code runs now where that says nothing. */
export async function runBlock(block: Block, input: unknown, ctx: unknown): Promise<unknown> {
  const token = tokenOf(ctx) ?? currentToken();
  const where = `${block.kind} "${block.name}".run`;
  if (token === LOAD) throw new Error(`${where}: a block runs inside another one, not while the file loads`);
  const json = toJson(input, `the input of ${where}`);
  const answer = await askJson(token, 'run', wire({ block: describe(block), input: json }));
  return answer === '' ? undefined : (JSON.parse(answer) as unknown);
}

function tokenOf(ctx: unknown): number | undefined {
  if (ctx === undefined || ctx === null) return undefined;
  if (typeof ctx !== 'object')
    throw new TypeError(`block.run(input, ctx): ctx is ${describeValue(ctx)}, not a context`);
  return (ctx as { [TOKEN]?: number })[TOKEN];
}
