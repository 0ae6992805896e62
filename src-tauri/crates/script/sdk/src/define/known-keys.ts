// What the builders understand, and a word about what they do not: a key that is written wrong changes nothing,
// and nobody would notice.
//
// Must not: refuse anything. Newer spellings may be meant for other hosts; a load that looks odd is told, not stopped.

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
  'uses',
  'connectInput',
  'connectOutput',
  'mapModelOutput',
  'activeStatusMessage',
  'onCompleted',
  'onErrored',
  'retry',
  'rescue',
  'transient',
  'container',
  'requireOrg',
  'requireProject',
  'cacheable',
  'middleware',
  'flowConfigSchema',
];

const KEYS: Record<string, readonly string[]> = {
  handler: [...BLOCK, 'execute'],
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
    'caching',
    'describeTools',
    'providerOptions',
    'validateChunk',
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
    'tools',
    'requireUser',
    'authentication',
    'middleware',
    'internal',
    'task',
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
};

/** What looks odd in a file, with the stack of the call that it was said to. */
const warnings: [message: string, stack: string][] = [];

export function warn(message: string): void {
  warnings.push([message, new Error().stack ?? '']);
}

/** All of them, told once. */
export function takeWarnings(): string {
  return JSON.stringify(warnings.splice(0));
}

const SETS = new Map(Object.entries(KEYS).map(([kind, keys]) => [kind, new Set(keys)]));

/** Tells of every key that a builder does not know. */
export function warnOfUnknown(kind: string, config: Config, where: string): void {
  const known = SETS.get(kind) as Set<string>;
  for (const key of Object.keys(config)) {
    if (known.has(key) || config[key] === undefined) continue;
    const meant = nearest(key, [...known]);
    warn(
      `${where}: "${key}" is no setting of a ${kind} and changes nothing${meant ? `; did you mean "${meant}"?` : ''}`,
    );
  }
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
