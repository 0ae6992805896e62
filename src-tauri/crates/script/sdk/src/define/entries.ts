// Entries: what of a flow is run by something else than a person's call of an action (SEMANTICS §1.7).
//
// A dispatcher reaches `internal` and `task` entries, a provider's event a webhook, a bot's event a chat binding, a clock
// a schedule. Each is an action with a mapping in front, and is known to the engine by its address, `webhook:stripe/paid`.
//
// Must not: fire anything by itself. `flowglass trigger` and `run --internal` do, and dispatchers.

import { describeValue, needFunction } from '../base/arguments';
import { isBlock, type Block, type Config } from './blocks';
import { checkCron } from './cron';
import { checkRelay, relayEntries } from './relay';
import { isSchema, parse, type AnySchema } from '../base/schema';

export type EntryType = 'internal' | 'task' | 'webhook' | 'chat' | 'schedule';

export interface Entry {
  type: EntryType;
  /** `summarize`, `stripe/invoice.paid`, `mention`, `monthly-invoices` */
  name: string;
  /** The action that it runs, with what stands beside it. */
  action: Config;
}

const STATIC_ID = /^[a-z0-9][a-z0-9-]{0,63}$/;

export const addressOf = ({ type, name }: Entry): string => `${type}:${name}`;

/** The binding of a provider's event, as it was written: types know more of it than this. */
export const defineWebhookBinding = (binding: Config): Config => binding;

/** The binding of a schedule, likewise. */
export const defineScheduleBinding = (binding: Config): Config => binding;

/** Every entry of a definition, in the author's order. */
export function entriesOf(definition: Config): Entry[] {
  const found: Entry[] = [];
  const add = (type: EntryType, name: string, given: unknown) =>
    found.push({ type, name, action: actionOf(definition, given as Config | null) as Config });
  for (const type of ['internal', 'task'] as const) {
    for (const [name, action] of fieldsOf(ownEntries(definition, type))) add(type, name, action);
  }
  for (const [name, action] of relayEntries(definition)) add('internal', name, action);
  for (const [provider, given] of fieldsOf(definition.webhooks)) {
    for (const [event, binding] of fieldsOf((given as Config | undefined)?.on)) {
      add('webhook', `${provider}/${event}`, binding);
    }
  }
  for (const [event, binding] of fieldsOf((definition.chat as Config | undefined)?.on)) add('chat', event, binding);
  for (const [id, given] of fieldsOf((definition.schedules as Config | undefined)?.static)) add('schedule', id, given);
  return found;
}

/**
 * The internal or the task entries of a definition: `{ actions: { … } }`, or in an older spelling the entries
 * themselves, which of tasks stood in `tasks`.
 */
export function ownEntries(definition: Config, type: 'internal' | 'task'): unknown {
  const given = (definition[type] ?? (type === 'task' ? definition.tasks : undefined)) as Config | undefined;
  return isEntries(given) ? given : given?.actions;
}

/** Whether every field is an entry, and none the map of them. */
function isEntries(given: unknown): boolean {
  const isEntry = (value: unknown) => isBlock((value as Config | null)?.block ?? (value as Config | null)?.steps);
  const all = fieldsOf(given).map(([, value]) => value);
  return all.length > 0 && all.every(isEntry);
}

/** An older binding names an action instead of having a block of its own. */
export function actionOf(definition: Config, given: Config | null): Config | null {
  if (typeof given?.action !== 'string' || given.block !== undefined) return given;
  const named = (definition.actions as Record<string, Config> | undefined)?.[given.action];
  if (named === undefined) return given;
  const { action: _named, ...own } = given;
  return { ...named, ...own };
}

function fieldsOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

/** Everything of a flow that can be run, with how an error names it. */
export function runnableOf(definition: Config): [what: string, action: Config][] {
  const actions = fieldsOf(definition.actions).map(([name, action]) => [`action "${name}"`, action as Config] as const);
  const entries = entriesOf(definition).map((entry) => [`${entry.type} "${entry.name}"`, entry.action] as const);
  return [...actions, ...entries].map(([what, action]) => [what, action]);
}

/** Refuses entries that nothing could fire, where they are defined. */
export function checkEntries(definition: Config): void {
  const where = `Flow "${definition.kind as string}"`;
  for (const key of ['internal', 'task', 'tasks']) {
    const given = definition[key] as { actions?: unknown } | undefined;
    if (given === undefined || isEntries(given)) continue;
    if (typeof given?.actions !== 'object' || given.actions === null) {
      throw new TypeError(`${where}: "${key}" must be { actions: { … } }, got ${describeValue(given)}`);
    }
  }
  checkMaps(definition, where);
  checkRelay(definition.relay, definition.kind as string);
  for (const entry of entriesOf(definition)) {
    const what = `${where}: ${entry.type} "${entry.name}"`;
    if (entry.name === '' || entry.name.startsWith('/') || entry.name.endsWith('/')) {
      throw new TypeError(`${what}: an event and its provider need a name that is not empty`);
    }
    checkBlock(entry, what);
    if (entry.type === 'webhook' || entry.type === 'chat') checkBinding(entry.action, what);
    if (entry.type === 'schedule') checkSchedule(entry, what);
  }
}

/** Refuses an entry that runs nothing. */
export function checkBlock(entry: Entry, what: string): void {
  const { block, steps, action } = (entry.action ?? {}) as Config;
  if (isBlock(block ?? steps)) {
    if (action === undefined) return;
    throw new Error(`${what} has a block and names action "${String(action)}"; it runs one of them, so say which`);
  }
  if (typeof action === 'string') throw new Error(`${what} names action "${action}", which the flow does not have`);
  throw new Error(`${what} needs a block (\`block\` or \`steps\`), got ${describeValue(entry.action)}`);
}

function checkMaps(definition: Config, where: string): void {
  const needObject = (value: unknown, what: string, example: string) => {
    if (value !== undefined && (typeof value !== 'object' || value === null || Array.isArray(value))) {
      throw new TypeError(`${where}: ${what} must be an object like ${example}, got ${describeValue(value)}`);
    }
  };
  needObject(definition.webhooks, '"webhooks"', '{ stripe: { on: { … } } }');
  for (const [provider, given] of fieldsOf(definition.webhooks)) {
    const on = (given as Config | null)?.on;
    if (typeof on !== 'object' || on === null) {
      throw new TypeError(`${where}: webhook provider "${provider}" must be an object with an \`on\` map of events`);
    }
  }
  needObject(definition.chat, '"chat"', '{ on: { … } }');
  needObject((definition.chat as Config | undefined)?.on, '"chat.on"', '{ mention: { … } }');
  needObject(definition.schedules, '"schedules"', '{ static: { … } }');
  const { static: fixed, resolve } = (definition.schedules ?? {}) as Config;
  needObject(fixed, '"schedules.static"', '{ "nightly-report": { cron: "0 3 * * *", block } }');
  if (resolve !== undefined) needFunction(resolve, `${where}: schedules.resolve`);
}

function checkBinding(binding: Config, what: string): void {
  if (typeof binding.input !== 'function') {
    throw new TypeError(
      `${what} must declare \`input\` as a function that maps the event to the input of its block, ` +
        `got ${describeValue(binding.input)}`,
    );
  }
  for (const key of ['sessionId', 'when']) {
    if (binding[key] !== undefined) needFunction(binding[key], `${what}: ${key}`);
  }
}

function checkSchedule({ name, action }: Entry, what: string): void {
  if (!STATIC_ID.test(name)) {
    throw new Error(`${what} has an invalid id: it is of lower-case letters, digits and dashes, at most 64`);
  }
  checkCron(action.cron, what);
  checkScheduled(action, what);
}

/** Refuses what no schedule can say, also one that a flow's `resolve` gives for an id. */
export function checkScheduled(action: Config, what: string): void {
  const schema = action.inputSchema ?? ((action.block ?? action.steps) as Block).inputSchema;
  if (action.input !== undefined && typeof action.input !== 'function' && isSchema(schema)) {
    const issues = refused(schema, action.input);
    if (issues !== undefined)
      throw new Error(`${what} has an input that does not fit its block's inputSchema: ${issues}`);
  }
  if (action.onOverlap !== undefined && action.onOverlap !== 'skip' && action.onOverlap !== 'allow') {
    throw new Error(`${what}: onOverlap is "skip" or "allow", not ${describeValue(action.onOverlap)}`);
  }
  const user = (action.principal as Config | undefined)?.userId;
  if (action.principal !== undefined && (typeof user !== 'string' || user.trim() === '')) {
    throw new Error(`${what}: principal.userId must be a non-empty string, got ${describeValue(user)}`);
  }
}

/** What a schema has against a value, in words; nothing where it takes it, or cannot tell at once. */
function refused(schema: AnySchema, value: unknown): string | undefined {
  try {
    const result = parse(schema, value);
    if (result.ok) return undefined;
    return (result.issues ?? []).map(({ path, message }) => (path ? `${path}: ${message}` : message)).join('; ');
  } catch {
    return undefined;
  }
}
