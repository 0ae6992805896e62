// Instances of a flow, made by calling it with options, and what a definition says besides its
// actions and scopes (SEMANTICS §1.1).
//
// Must not: run anything. What no part of this program serves (mcp, voice) is kept as it was written.

import type { Config } from './blocks';
import { readersOf } from './flow-config';
import { describeValue } from '../base/arguments';
import { FlowIdentityConflictError } from '../base/errors';

/** Keys that belong to the definition alone. */
const ENTRIES = ['chat', 'webhooks', 'schedules', 'internal', 'relay', 'task', 'tasks'];
const FIXED = ['cardinality', 'mcp', ...ENTRIES, 'configSchema'];
/** Objects of settings: what the options say replaces single settings, not the whole. */
const MERGED = ['session', 'request', 'user', 'project', 'org', 'work', 'authentication'];

/** The definition of an instance: options over definition. */
export function mint(definition: Config, options: unknown): Config {
  const where = `Flow "${definition.kind as string}"`;
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new TypeError(`${where}: an instance takes an object of options, got ${describeValue(options)}`);
  }
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const fixed = FIXED.find((key) => key in given && given[key] !== definition[key]);
  if (fixed) throw new Error(`${where}: "${fixed}" belongs to the definition; an instance cannot set it`);
  const minted: Config = { ...definition, ...given, isMinted: true };
  for (const key of MERGED) if (given[key] && definition[key]) minted[key] = overlaid(definition[key], given[key]);
  if (given.tools && definition.tools) {
    minted.tools = overlaid(definition.tools, given.tools);
    const defaults = [definition.tools, given.tools].map((tools) => (tools as Config).defaults);
    (minted.tools as Config).defaults = overlaid(defaults[0], defaults[1]);
  }
  if (given.actions) {
    const actions = { ...(definition.actions as Record<string, Config>) };
    for (const [name, action] of Object.entries(given.actions as Record<string, Config | undefined>)) {
      if (action) actions[name] = { ...actions[name], ...action };
    }
    minted.actions = actions;
  }
  return minted;
}

/** One level deep; what is undefined on top lets the setting below through. */
function overlaid(below: unknown, above: unknown): Config {
  const set = Object.entries((above ?? {}) as Config).filter(([, value]) => value !== undefined);
  return { ...(below as Config | undefined), ...Object.fromEntries(set) };
}

/** A flow is one by its kind, unless it says that there are many: then each has an id of its own. */
export function checkIdentity({ kind, id, cardinality, isMinted }: Config): void {
  const where = `Flow "${kind as string}"`;
  if (id !== undefined && (typeof id !== 'string' || id.trim() === '')) {
    throw new TypeError(`${where}: "id" must be a non-empty string, got ${describeValue(id)}`);
  }
  if (cardinality === undefined) return;
  if (cardinality !== 'singleton' && cardinality !== 'collection') {
    throw new TypeError(
      `${where}: "cardinality" must be "singleton" or "collection", got ${describeValue(cardinality)}`,
    );
  }
  if (cardinality === 'singleton' && id !== undefined && id !== kind) {
    throw new FlowIdentityConflictError(
      `${where} is a singleton, so its id is "${kind as string}", not "${id as string}"`,
    );
  }
  if (cardinality === 'collection' && isMinted === true && id === undefined) {
    throw new FlowIdentityConflictError(`${where} is a collection, so each instance needs an id of its own`);
  }
}

/** Whether it is an instance of a flow of which there are many. */
export function isOneOfMany({ cardinality, isMinted }: Config): boolean {
  return cardinality === 'collection' && isMinted === true;
}

/** What an action that is offered over MCP needs, and a block that reads the flow's own settings. */
export function checkOffers(definition: Config): void {
  const where = `Flow "${definition.kind as string}"`;
  const actions = (definition.actions ?? {}) as Record<string, Config>;
  if (isOffered(definition.mcp)) {
    const silent = Object.entries(actions).find(
      ([, action]) =>
        action.internal !== true && action.mcp !== false && isOffered(action.mcp ?? {}) && blank(action.description),
    );
    if (silent) throw new Error(`${where}: action "${silent[0]}" is offered over MCP, so it needs a description`);
  }
  if (definition.configSchema !== undefined) return;
  const [demanding] = readersOf(definition);
  if (demanding) {
    throw new Error(
      `${where}: ${demanding.kind} "${demanding.name}" has a flowConfigSchema, but the flow has no configSchema`,
    );
  }
}

function isOffered(mcp: unknown): boolean {
  return mcp !== undefined && mcp !== false && mcp !== null && (mcp as Config).enabled !== false;
}

function blank(text: unknown): boolean {
  return typeof text !== 'string' || text.trim() === '';
}
