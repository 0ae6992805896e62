// What the builders understand, and a word about what they do not: a key that is written wrong changes nothing,
// and nobody would notice.
//
// Must not: refuse anything. Newer spellings may be meant for other hosts; a load that looks odd is told, not stopped.

import { currentToken, LOAD, native } from '../base/host';
import { isSchema, transientFields } from '../base/schema';
import type { Config } from './blocks';

const BLOCK = [
  'name',
  'description',
  'inputSchema',
  'outputSchema',
  'stateSchema',
  'defaultState',
  'requestStateSchema',
  'sessionStateSchema',
  'userStateSchema',
  'projectStateSchema',
  'orgStateSchema',
  'sequencerStateSchema',
  'targetStateSchemas',
  'parentInputSchema',
  'parentStateSchema',
  'resources',
  'sessionResources',
  'userResources',
  'projectResources',
  'orgResources',
  // What a block expects of resources that its flow declares: an older setting, for types alone.
  'sessionResourceSchemas',
  'userResourceSchemas',
  'projectResourceSchemas',
  'orgResourceSchemas',
  'uses',
  'connectInput',
  'connectOutput',
  'mapModelOutput',
  'activeStatusMessage',
  'onCompleted',
  'onErrored',
  'retry',
  'timeoutMs',
  'rescue',
  'transient',
  'container',
  'requireOrg',
  'requireProject',
  'cacheable',
  'middleware',
  'approval',
  'flowConfigSchema',
];

const RESOURCE = [
  'scope',
  'flowIsolation',
  'stateSchema',
  'contentTemplate',
  'contentTemplateRef',
  'llmReadable',
  'llmWritable',
  'writable',
  'allowedExtensions',
  'metadata',
  'prefetchMode',
  'client',
  'edges',
  'reactTo',
  'sharedToLineage',
  'sharedToWorkstream',
];

const KEYS: Record<string, readonly string[]> = {
  // `dispatch` is where a dispatcher sends to.
  handler: [...BLOCK, 'execute', 'dispatch'],
  sequencer: [...BLOCK, 'durable'],
  router: [...BLOCK, 'routes', 'execute', 'validateRoute'],
  evaluator: [...BLOCK, 'model', 'questions', 'state', 'execute'],
  generator: [
    ...BLOCK,
    'model',
    'prompt',
    'context',
    'history',
    'user',
    'tools',
    'providerTools',
    'search',
    'agentType',
    'itemVisibility',
    'agentName',
    'loop',
    'maxIterations',
    'maxTokens',
    'repair',
    'repairOutput',
    'flowTools',
    'toolApproval',
    'caching',
    'describeTools',
    'providerOptions',
    'validateChunk',
    'emit',
  ],
  flow: [
    'kind',
    'id',
    'cardinality',
    'description',
    'actions',
    'request',
    'session',
    'user',
    'project',
    'org',
    'resources',
    'resourceVisibility',
    'tools',
    'requireUser',
    'authentication',
    'middleware',
    'internal',
    'relay',
    'task',
    'tasks',
    'tokenCounter',
    'costEstimator',
    'configSchema',
    'config',
    'isolateUserState',
    'isolateProjectState',
    'isolateOrgState',
    'voice',
    'mcp',
    'chat',
    'webhooks',
    'schedules',
    'work',
    'defaultBlockRenderer',
    'isMinted',
  ],
  resource: [...RESOURCE, 'ref', 'default', 'content', 'contentFile', 'render', 'dynamic'],
  collection: [
    ...RESOURCE,
    'pattern',
    'maxInstances',
    'eviction',
    'prefetchWindow',
    'recentLimit',
    'stampOrgId',
    'onInstanceCreated',
    'onInstanceUpdated',
    'onInstanceDeleted',
  ],
  'external collection': [...RESOURCE, 'pattern', 'read', 'search'],
};

/** Settings of other hosts, which change nothing here, and why. A file that names one is told so once. */
const IDLE: Record<string, Record<string, string>> = {
  flow: {
    mcp: 'no MCP server is started; run its actions themselves',
    voice: 'nothing is spoken or heard',
    work: 'these hooks were never called, and the newer API has none of them',
    tokenCounter: 'four characters count as a token',
    defaultBlockRenderer: 'blocks are drawn by the window itself',
    'authentication.resolvePrincipal': 'who runs a flow says who the user is, by --user',
    'authentication.requireOrg': 'a block that needs one says so by requireOrg',
    'chat.streamToThread': 'there is no thread to write to',
    'request.heartbeatIntervalMs': 'a process that runs a request holds a lock instead',
    'request.sseHeartbeatMs': 'nothing is streamed over HTTP',
  },
  generator: {
    search: 'a model is offered the blocks of "tools" only',
    caching: 'what a provider keeps of a prompt is left to it',
    emit: '"agentType" or "itemVisibility" says who sees what it says',
  },
};

/** What looks odd in a file, with the stack of the call that it was said to. */
const warnings: [message: string, stack: string][] = [];

/** Tells of the file at the line that is at work, or where the given stack was taken. */
export function warn(message: string, stack = new Error().stack ?? ''): void {
  warnings.push([message, stack]);
}

/** What was told while blocks run. */
const told = new Set<string>();

/** Tells of the file while it loads, and once in the log of the block that runs. */
export function tell(message: string): void {
  if (currentToken() === LOAD) warn(message);
  else if (!told.has(message)) native.sync('log', currentToken(), JSON.stringify(['warn', message]));
  told.add(message);
}

/** All of them, told once. */
export function takeWarnings(): string {
  return JSON.stringify(warnings.splice(0));
}

const SETS = new Map(Object.entries(KEYS).map(([kind, keys]) => [kind, new Set(keys)]));

/** Tells of every key that a builder does not know, and of those that mean nothing here. */
export function warnOfUnknown(kind: string, config: Config, where: string): void {
  const known = SETS.get(kind) as Set<string>;
  const one = /^[aeiou]/.test(kind) ? `an ${kind}` : `a ${kind}`;
  if (IDLE[kind]) warnOfIdle(kind, config, where);
  for (const key of Object.keys(config)) {
    if (config[key] === undefined) continue;
    if (known.has(key)) continue;
    const meant = nearest(key, [...known]);
    warn(`${where}: "${key}" is no setting of ${one} and changes nothing${meant ? `; did you mean "${meant}"?` : ''}`);
  }
}

/** Tells of fields that are marked by `transientSlot` in a state that is kept: there the mark changes nothing. */
export function warnOfSlots(schema: unknown, place: string): void {
  if (!isSchema(schema)) return;
  for (const name of transientFields(schema)) {
    const instead = 'it works in the state of a sequencer or a block';
    warn(`${place}: "${name}" is kept like any other field: transientSlot changes nothing here; ${instead}`);
  }
}

/** Tells of settings that other hosts have a use for. */
function warnOfIdle(kind: string, config: Config, where: string): void {
  for (const [key, why] of Object.entries(IDLE[kind] ?? {})) {
    const [name, inner] = key.split('.') as [string, string?];
    const value = inner === undefined ? config[name] : (config[name] as Config | undefined)?.[inner];
    if (value !== undefined && isMeant(value)) warn(`${where}: "${key}" changes nothing here: ${why}`);
  }
}

/** `false` and `{ enabled: false }` ask for nothing. */
function isMeant(value: unknown): boolean {
  if (value === false || value === null) return false;
  return (value as { enabled?: unknown }).enabled !== false;
}

/** The word that a written one most likely stands for, if any does. */
export function nearest(written: string, words: readonly string[]): string | undefined {
  const most = Math.max(1, Math.floor(written.length / 3));
  let [best, least]: [string | undefined, number] = [undefined, most + 1];
  for (const word of words) {
    const distance = slips(written.toLowerCase(), word.toLowerCase());
    if (distance < least) [best, least] = [word, distance];
  }
  return best;
}

/** How many letters were left out, added, changed, or swapped with the next. */
function slips(one: string, two: string): number {
  let before: number[] = [];
  let row = Array.from({ length: two.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= two.length; j++) {
      const same = one[i - 1] === two[j - 1] ? 0 : 1;
      let cost = Math.min((row[j] as number) + 1, (next[j - 1] as number) + 1, (row[j - 1] as number) + same);
      const swapped = i > 1 && j > 1 && one[i - 1] === two[j - 2] && one[i - 2] === two[j - 1];
      if (swapped) cost = Math.min(cost, (before[j - 2] as number) + 1);
      next.push(cost);
    }
    [before, row] = [row, next];
  }
  return row[two.length] as number;
}
