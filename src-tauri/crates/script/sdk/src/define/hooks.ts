// Hooks of a flow's requests and of its actions: blocks, or functions, which become handlers.

import { handler, isBlock, type Block, type Config, type Fn } from './blocks';
import { runnableOf } from './entries';

const OF_REQUESTS = ['onStarted', 'onCompleted', 'onErrored', 'onFinished', 'onStepErrored'];
const OF_ACTIONS = ['onCompleted', 'onErrored'];

/** Refuses hooks that are neither. */
export function checkHooks(definition: Config): void {
  hooksOf(definition.request as Config | undefined, `Flow "${definition.kind as string}": request`, OF_REQUESTS);
  for (const [name, action] of runnableOf(definition)) {
    hooksOf(action, `Flow "${definition.kind as string}": ${name}`, OF_ACTIONS);
  }
}

export function requestHooks(definition: Config): Record<string, Block> {
  return hooksOf(definition.request as Config | undefined, 'request', OF_REQUESTS);
}

export function actionHooks(action: Config): Record<string, Block> {
  return hooksOf(action, 'action', OF_ACTIONS);
}

function hooksOf(config: Config | undefined, where: string, names: string[]): Record<string, Block> {
  const found: Record<string, Block> = {};
  for (const name of names) {
    const given = config?.[name];
    if (given === undefined) continue;
    if (isBlock(given)) found[name] = given;
    else if (typeof given === 'function') found[name] = made(name, given as Fn);
    else throw new TypeError(`${where}: ${name} must be a block, or a function of (value, ctx)`);
  }
  return found;
}

const handlers = new Map<Fn, Block>();

/** The handler of a function, the same one each time. */
function made(name: string, execute: Fn): Block {
  let block = handlers.get(execute);
  if (!block) {
    block = handler({ name: execute.name || name, execute });
    handlers.set(execute, block);
  }
  return block;
}
