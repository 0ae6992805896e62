// What settings inside of settings may say: how a block is tried again, what an action has besides its block, how tools
// are run. Whatever none of them has is told as a warning, as a misspelt key of a builder is.
//
// Must not: refuse anything, or look into what another place checks (`known-keys.ts`, `scope-keys.ts`).

import type { Config } from './blocks';
import { nearest, warn } from './known-keys';

const RETRY = ['maxAttempts', 'baseDelayMs', 'maxDelayMs', 'retryableErrors'];
const TOOLS = ['defaults', 'onToolStarted', 'onToolCompleted', 'onToolErrored'];
const TOOL_DEFAULTS = ['timeoutMs', 'concurrency', 'retry'];

/** Of every kind of block: a setting, and what it may say. */
const BLOCK: Record<string, readonly string[]> = {
  retry: RETRY,
  cacheable: ['ttl', 'scope', 'keyFn', 'cacheIf'],
  container: ['component', 'label', 'metadata'],
  loop: ['maxIterations', 'runTools', 'stopWhen'],
  repair: ['mode', 'maxAttempts', 'coerce'],
  flowTools: TOOLS,
  approval: ['required', 'message', 'render'],
  toolApproval: ['autoApprove', 'require', 'timeoutMs'],
};

const FLOW: Record<string, readonly string[]> = {
  authentication: ['resolvePrincipal', 'defaultUserId', 'requireUser', 'requireOrg'],
  tools: TOOLS,
  chat: ['on', 'streamToThread'],
  schedules: ['static', 'resolve'],
};

const ACTION = [
  'block',
  'steps',
  'inputSchema',
  'description',
  'onCompleted',
  'onErrored',
  'userMessage',
  'concurrency',
  'durable',
  'tokenBudget',
  'mcp',
  'internal',
];
const EVENT = [...ACTION, 'action', 'input', 'sessionId', 'when'];

/** What may be run, by how it is reached. */
const RUNNABLE: Record<string, readonly string[]> = {
  action: ACTION,
  internal: ACTION,
  task: ACTION,
  webhook: EVENT,
  chat: EVENT,
  schedule: [...ACTION, 'action', 'cron', 'input', 'principal', 'timezone', 'onOverlap', 'enabled'],
};

const DISPATCHER = [
  'name',
  'description',
  'type',
  'target',
  'action',
  'flowKind',
  'session',
  'payload',
  'inputSchema',
  'transient',
];

/** What a query of items may say; `types` is an older word. */
export const ITEM_QUERY = [
  'limit',
  'includeTransient',
  'includeInFlight',
  'itemTypes',
  'types',
  'roles',
  'agentName',
  'agentType',
  'itemVisibility',
];

/** Tells of every key that is none of the known ones. `say` is how: of the file, or while a block runs. */
export function warnOfOthers(
  given: unknown,
  known: readonly string[],
  where: string,
  what: string,
  say: (message: string) => void = warn,
): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return;
  for (const key of Object.keys(given)) {
    if (known.includes(key) || (given as Config)[key] === undefined) continue;
    const meant = nearest(key, known);
    say(`${where}: "${key}" is no ${what} and changes nothing${meant ? `; did you mean "${meant}"?` : ''}`);
  }
}

/** Tells of what the settings of a block do not have. */
export function warnInsideBlock(config: Config, where: string): void {
  for (const [key, known] of Object.entries(BLOCK)) warnOfOthers(config[key], known, where, `setting of ${key}`);
  warnInsideTools(config.flowTools, where, 'flowTools');
  if (isItemQuery(config.history)) warnOfOthers(config.history, ITEM_QUERY, where, 'setting of history');
}

/** Whether a generator's `history` is a query of items; else it is messages, or says whether there is a history. */
export function isItemQuery(history: unknown): history is Config {
  if (typeof history !== 'object' || history === null || Array.isArray(history)) return false;
  return !('content' in history) && !('role' in history);
}

function warnInsideTools(tools: unknown, where: string, key: string): void {
  const { defaults } = (tools ?? {}) as Config;
  warnOfOthers(defaults, TOOL_DEFAULTS, where, `setting of ${key}.defaults`);
  warnOfOthers((defaults as Config | undefined)?.retry, RETRY, where, `setting of ${key}.defaults.retry`);
}

/** Tells of what the settings of a flow do not have. `runnable` is all that it runs, with how an error names it. */
export function warnInsideFlow(definition: Config, runnable: readonly [what: string, action: Config][]): void {
  const where = `Flow "${definition.kind as string}"`;
  for (const [key, known] of Object.entries(FLOW)) warnOfOthers(definition[key], known, where, `setting of ${key}`);
  warnInsideTools(definition.tools, where, 'tools');
  for (const [provider, given] of Object.entries((definition.webhooks ?? {}) as Config)) {
    warnOfOthers(given, ['on'], `${where}: webhook provider "${provider}"`, 'setting of it');
  }
  for (const [what, action] of runnable) {
    const kind = what.slice(0, what.indexOf(' '));
    warnOfOthers(action, RUNNABLE[kind] ?? ACTION, `${where}: ${what}`, 'setting of it');
  }
}

/** Tells of what a dispatcher does not have. */
export const warnOfDispatcher = (config: Config, where: string): void =>
  warnOfOthers(config, DISPATCHER, where, 'setting of a dispatcher');
