// An agent with Calls, and all that its file registers, as plain data for the engine.

import { standsFor } from '../base/sources';
import { handler, type Block, type Config, type Fn } from '../define/blocks';
import { registered, type CallAgentBlock } from '../define/calls';
import { text } from '../define/tables';

/** The block of each Activity, by its name: every agent of a file runs the same. */
const blocks = new Map<string, Block>();

/** `child` describes the block of an Activity, and gives its number. */
export function describeCalls(block: CallAgentBlock, child: (block: Block) => number): Config {
  const { name: _name, confirm, context, ...settings } = block.definition;
  const { tools, activities, delegates } = registered();
  return {
    ...settings,
    context: text(alone(context)),
    confirm: text(alone(confirm)),
    tools: Object.fromEntries(tools),
    activities: [...activities].map(([name, execute]) => ({ name, block: child(activity(name, execute)) })),
    delegates: [...delegates].map(([name, delegate]) => ({ name, ...delegate })),
  };
}

/** An Activity gets the Call and what is scoped to it. The `ctx` of a handler would show it more. */
function activity(name: string, execute: Fn): Block {
  let block = blocks.get(name);
  if (!block) {
    const run = ({ call, scoped }: { call: unknown; scoped: unknown }): unknown =>
      (execute as (call: unknown, scoped: unknown) => unknown)(call, scoped);
    block = handler({ name, execute: standsFor(run, execute) });
    blocks.set(name, block);
  }
  return block;
}

/** A function that gets one value, and no `ctx`; anything else as it is. */
function alone(given: unknown): unknown {
  if (typeof given !== 'function') return given;
  const call = given as (value: unknown) => unknown;
  return standsFor((value: unknown) => call(value), given);
}
