// Instances of a flow: what options change of its definition (core-semantics §1.3), and what must
// hold for a definition as a whole (§1.9).

import { describeValue } from './arguments';
import { isBlock, type Block, type Config } from './blocks';
import { budget, lastingOf } from './describe';

/** Settings that an instance's options extend, field by field. */
const EXTENDED = ['session', 'request', 'user', 'project', 'org', 'work', 'authentication'];
/** What clients and other programs reach a flow by belongs to its definition alone. */
const FIXED = ['kind', 'cardinality', 'mcp', 'chat', 'webhooks', 'schedules'];

/** The definition of an instance. */
export function minted(definition: Config, options: unknown): Config {
  const kind = String(definition.kind);
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new TypeError(`Flow "${kind}": an instance is made with an object of options, got ${describeValue(options)}`);
  }
  const made: Config = { ...definition };
  for (const [key, value] of Object.entries(options as Config)) {
    if (value === undefined || FIXED.includes(key)) continue;
    made[key] = EXTENDED.includes(key) ? { ...(definition[key] as Config | undefined), ...given(value) } : value;
  }
  const { actions, tools } = options as Record<string, Config | undefined>;
  if (actions !== undefined) made.actions = mergedActions(definition.actions as Config | undefined, actions);
  if (tools !== undefined) made.tools = mergedTools(definition.tools as Config | undefined, tools);
  if (definition.cardinality === 'collection' && (options as Config).id === undefined) {
    throw conflict(`Flow "${kind}" is a collection: every instance needs an id of its own`);
  }
  return made;
}

/** The fields that say something: `undefined` leaves what is there. */
function given(value: unknown): Config {
  return Object.fromEntries(Object.entries((value ?? {}) as Config).filter(([, field]) => field !== undefined));
}

function mergedActions(own: Config | undefined, options: Config): Config {
  const merged: Config = { ...own };
  for (const [name, action] of Object.entries(options)) {
    if (action) merged[name] = { ...(merged[name] as Config | undefined), ...(action as Config) };
  }
  return merged;
}

function mergedTools(own: Config | undefined, options: Config): Config {
  const defaults = { ...(own?.defaults as Config | undefined), ...given(options.defaults) };
  return { ...own, ...given(options), defaults };
}

function conflict(message: string): Error {
  const error = new Error(message);
  error.name = 'FlowIdentityConflictError';
  return error;
}

/** Refuses what can never work. */
export function checkDefinition(definition: Config): void {
  const kind = String(definition.kind);
  const { id, cardinality = 'singleton' } = definition;
  if (cardinality !== 'singleton' && cardinality !== 'collection') {
    throw new Error(`Flow "${kind}": cardinality is "singleton" or "collection", not ${describeValue(cardinality)}`);
  }
  if (id !== undefined && (typeof id !== 'string' || id === '')) {
    throw new TypeError(`Flow "${kind}": id must be a non-empty text, got ${describeValue(id)}`);
  }
  if (cardinality === 'singleton' && id !== undefined && id !== kind) {
    throw conflict(`Flow "${kind}" is a singleton: leave its id out, or make it "${kind}", not ${describeValue(id)}`);
  }
  const actions = Object.entries((definition.actions ?? {}) as Record<string, Config>);
  checkDescriptions(definition, actions);
  lastingOf({ definition, kind });
  for (const [name, action] of actions) budget(kind, name, action.tokenBudget as Config | undefined);
  if (definition.configSchema !== undefined) return;
  for (const [name, action] of actions) {
    const asks = reachable((action.block ?? action.steps) as Block).find((block) => block.config.flowConfigSchema !== undefined);
    if (asks) {
      throw new Error(`Flow "${kind}": action "${name}" runs ${asks.kind} "${asks.name}", which has a flowConfigSchema, but the flow has no configSchema`);
    }
  }
}

/** Other programs choose an exposed action by its description. */
function checkDescriptions({ kind, mcp }: Config, actions: [string, Config][]): void {
  if (!mcp || (mcp as Config).enabled === false) return;
  for (const [name, action] of actions) {
    const isOut = action.internal === true || (action.mcp as Config | undefined)?.enabled === false;
    const words = action.description ?? ((action.block ?? action.steps) as Block).description;
    if (!isOut && (typeof words !== 'string' || words.trim() === '')) {
      throw new Error(`Flow "${String(kind)}": action "${name}" is exposed by mcp, so it needs a description`);
    }
  }
}

function reachable(root: Block): Block[] {
  const found = new Set<Block>();
  const walk = (block: Block): void => {
    if (!isBlock(block) || found.has(block)) return;
    found.add(block);
    block.children.forEach(walk);
  };
  walk(root);
  return [...found];
}
