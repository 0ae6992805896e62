// What a block may be configured with, checked where the author wrote it.
//
// Must not: change a configuration. Each check answers or throws, with what was given and what is right.

import { describeValue, needFunction } from '../base/arguments';
import { checkApproval } from './approval';
import { isBlock, type Block, type Config, type Handler } from './blocks';
import { containerOf } from './container';
import { knowClass } from '../base/restored-errors';
import { checkField, inside, isSchema, typeOf } from '../base/schema';
import { toJson } from '../base/values';
import { warnOfSlots } from './known-keys';
import { needLayers } from './middleware';
import { warnOfOthers } from './nested-keys';
import { checkRetry, checkRetryOfTools } from './retry-checks';

const SCHEMAS = new Set([
  'inputSchema',
  'outputSchema',
  'stateSchema',
  'requestStateSchema',
  'sessionStateSchema',
  'userStateSchema',
  'projectStateSchema',
  'orgStateSchema',
  'sequencerStateSchema',
  'parentInputSchema',
  'parentStateSchema',
]);
/** Those of a state, which is an object of fields. */
const STATES = new Set([...SCHEMAS].filter((key) => /[sS]tateSchema$/.test(key)));
/** Those of a state that outlives its block. */
const KEPT = new Set(['request', 'session', 'user', 'project', 'org'].map((scope) => `${scope}StateSchema`));
const FUNCTIONS = new Set(['connectInput', 'connectOutput', 'mapModelOutput', 'onCompleted', 'onErrored']);

/** The longest name of a block, in bytes of UTF-8: paths are made of names, and stand in every row. */
const LONGEST_NAME = 1024;

/** Refuses names that no table and no path can hold. */
export function checkName(name: string, kind: string): void {
  const shown = JSON.stringify(name.length > 40 ? `${name.slice(0, 40)}…` : name);
  // No letter takes more than three bytes of UTF-8 for each of its UTF-16 units.
  const length = name.length > LONGEST_NAME / 3 ? bytesOfText(name) : name.length;
  if (length > LONGEST_NAME) {
    throw new Error(`The name of ${kind} ${shown} is ${length} bytes long; a block's name has at most ${LONGEST_NAME}`);
  }
  const control = /[\u0000-\u001f\u007f-\u009f]/.exec(name);
  if (control) {
    const code = control[0].charCodeAt(0).toString(16).padStart(4, '0');
    throw new Error(
      `The name of ${kind} ${shown} holds a control character (U+${code.toUpperCase()}); use letters that can be shown`,
    );
  }
}

function bytesOfText(text: string): number {
  let bytes = 0;
  for (const letter of text) {
    const code = letter.codePointAt(0) as number;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes;
}

/** Refuses what no kind of block understands. */
export function checkConfig(config: Config, where: string): void {
  // What is there is looked at, not what might be: a flow may have thousands of blocks.
  for (const key of Object.keys(config)) {
    const value = config[key];
    if (value === undefined) continue;
    if (SCHEMAS.has(key)) {
      if (!isSchema(value)) throw new TypeError(`${where}: ${key} must be a zod schema, got ${describeValue(value)}`);
      if (STATES.has(key)) needFields(value, `${where}: ${key}`);
      if (KEPT.has(key)) warnOfSlots(value, `${where}: ${key}`);
    } else if (FUNCTIONS.has(key)) {
      needFunction(value, `${where}: ${key}`);
    }
  }
  if (config.targetStateSchemas !== undefined) {
    for (const [name, schema] of Object.entries((config.targetStateSchemas ?? {}) as Config)) {
      if (!isSchema(schema))
        throw new TypeError(`${where}: targetStateSchemas.${name} must be a zod schema, got ${describeValue(schema)}`);
    }
  }
  checkApproval(config.approval, where);
  if (config.defaultState !== undefined) checkStart(config, where);
  const status = config.activeStatusMessage;
  if (status !== undefined && typeof status !== 'string' && typeof status !== 'function') {
    throw new TypeError(`${where}: activeStatusMessage must be a text or a function, got ${describeValue(status)}`);
  }
  if (config.retry !== undefined) checkRetry(config.retry, `${where}: retry`);
  checkRetryOfTools(config.flowTools, `${where}: flowTools`);
  needLayers(config.middleware, where);
  containerOf(config.container, where);
  if (config.rescue !== undefined) handlersOf(config.rescue, where);
}

/** The handlers of a configuration. Those that `.rescue(…)` has read have their classes by name already. */
export function handlersOf(rescue: unknown, where: string): Handler[] {
  const isRead = (one: { when?: unknown } | null | undefined) =>
    Array.isArray(one?.when) && one.when.every((name) => typeof name === 'string');
  return Array.isArray(rescue) && rescue.every(isRead) ? (rescue as Handler[]) : needHandlers(rescue, where);
}

/** What a block's own state begins with. */
function checkStart({ defaultState, stateSchema }: Config, where: string): void {
  if (typeof defaultState !== 'object' || defaultState === null || Array.isArray(defaultState)) {
    throw new TypeError(`${where}: defaultState must be an object of fields, got ${describeValue(defaultState)}`);
  }
  if (!isSchema(stateSchema)) {
    throw new Error(`${where}: defaultState is what a state begins with; give the block a stateSchema`);
  }
  toJson(defaultState, `${where}: defaultState`);
  for (const [field, value] of Object.entries(defaultState)) {
    const [issue] = checkField(stateSchema, field, value).issues ?? [];
    if (issue) throw new Error(`${where}: defaultState at "${issue.path}": ${issue.message}`);
  }
}

/** What no state can be, in the words of zod. */
const FIELDLESS = [
  'array',
  'tuple',
  'set',
  'map',
  'string',
  'number',
  'int',
  'bigint',
  'boolean',
  'date',
  'enum',
  'nativeenum',
  'literal',
  'null',
  'undefined',
  'function',
  'promise',
];

/** Refuses the schema of a state that is no object. */
export function needFields(schema: unknown, where: string): void {
  let at = isSchema(schema) ? schema : undefined;
  for (let depth = 0; at && depth < 20; depth++) {
    const type = typeOf(at);
    if (FIELDLESS.includes(type))
      throw new TypeError(`${where} must describe an object, like z.object({ … }), got a schema of ${type}`);
    at = inside(at);
  }
}

/** How many model calls a generator may make. */
export function checkLoop({ loop, maxIterations }: Config, where: string): void {
  if (loop !== undefined && (typeof loop !== 'object' || loop === null || Array.isArray(loop))) {
    throw new TypeError(`${where}: loop must be an object like { maxIterations: 4 }, got ${describeValue(loop)}`);
  }
  const given: [string, unknown][] = [
    ['loop.maxIterations', (loop as Config | undefined)?.maxIterations],
    ['maxIterations', maxIterations],
  ];
  for (const [name, value] of given) {
    if (value !== undefined && (!Number.isInteger(value) || (value as number) < 1)) {
      throw new TypeError(`${where}: ${name} must be an integer of at least 1, got ${describeValue(value)}`);
    }
  }
}

export function needBlock(value: unknown, where: string): Block {
  if (isBlock(value)) return value;
  throw new TypeError(`${where} needs a block, got ${describeValue(value)}`);
}

/** `[{ when?: ErrorClass[], block }]`, with classes by name. */
export function needHandlers(handlers: unknown, where: string): Handler[] {
  if (!Array.isArray(handlers))
    throw new TypeError(`${where}: rescue needs an array of { when?, block }, got ${describeValue(handlers)}`);
  return handlers.map((handler: { when?: unknown; block?: unknown }, at) => {
    const given: unknown = handler?.when ?? [];
    if (!Array.isArray(given)) {
      throw new TypeError(`${where}: rescue[${at}].when needs an array of error classes, got ${describeValue(given)}`);
    }
    const when = (given as unknown[]).map((error) => {
      if (typeof error !== 'function') {
        throw new TypeError(`${where}: rescue[${at}].when needs error classes, got ${describeValue(error)}`);
      }
      knowClass(error);
      return (error as { name: string }).name;
    });
    warnOfOthers(handler, ['when', 'block'], `${where}: rescue[${at}]`, 'setting of it');
    return { when, block: needBlock(handler?.block, `${where}: rescue[${at}].block`) };
  });
}

const AGENT_TYPES = ['primary', 'sub', 'trace', 'agent', 'sub-agent'];

/** Who the call of a tool speaks as. */
export interface ToolIdentity {
  agentType?: unknown;
  itemVisibility?: unknown;
  agentName?: unknown;
}

export function checkIdentity(identity: unknown, where: string): void {
  if (typeof identity !== 'object' || identity === null) {
    throw new TypeError(
      `${where} takes options like { agentName: "…", itemVisibility: { client: true, history: false } }, got ${describeValue(identity)}`,
    );
  }
  const { agentType, itemVisibility, agentName } = identity as ToolIdentity;
  if (agentType !== undefined && !AGENT_TYPES.includes(agentType as string)) {
    throw new TypeError(`${where}: agentType is "primary", "sub" or "trace", not ${describeValue(agentType)}`);
  }
  if (itemVisibility !== undefined) {
    const { client, history } = (itemVisibility ?? {}) as { client?: unknown; history?: unknown };
    if (typeof client !== 'boolean' || typeof history !== 'boolean') {
      throw new TypeError(
        `${where}: itemVisibility is { client: boolean, history: boolean }, not ${describeValue(itemVisibility)}`,
      );
    }
  }
  if (agentName !== undefined && typeof agentName !== 'string') {
    throw new TypeError(`${where}: agentName must be a text, not ${describeValue(agentName)}`);
  }
}
