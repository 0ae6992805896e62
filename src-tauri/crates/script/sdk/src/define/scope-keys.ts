// What `session`, `user`, `project`, `org` and `request` of a flow and its actions may say. Whatever is not known is
// told as a warning, as a misspelt key of a builder is.

import type { Config } from './blocks';
import { nearest, warn } from './known-keys';
import { needFields } from './projections';

const SCOPE = ['stateSchema', 'client', 'clientData', 'resources', 'cas'];
const HOOKS = ['onStarted', 'onCompleted', 'onErrored', 'onFinished', 'onStepErrored'];

const KEYS: Record<string, readonly string[]> = {
  session: [...SCOPE, 'metadata', 'retention', 'historyWindow', 'serverOwned', 'createCheck'],
  user: SCOPE,
  project: SCOPE,
  org: SCOPE,
  request: [
    ...SCOPE,
    ...HOOKS,
    'heartbeatIntervalMs',
    'sseHeartbeatMs',
    'cleanupCheckpointsOnTerminal',
    'mutationTimeoutMs',
    'concurrency',
  ],
};

/**
 * Tells of every key in a flow's scopes that none of them has, and of what is not done here. What an instance has from
 * the definition that it was made of was told of there.
 */
export function checkScopeKeys(definition: Config, madeOf?: Config): void {
  const flow = `Flow "${definition.kind as string}"`;
  for (const [scope, known] of Object.entries(KEYS)) {
    const config = definition[scope] as Config | undefined;
    for (const key of Object.keys(config ?? {})) {
      const before = (madeOf?.[scope] as Config | undefined)?.[key];
      if (known.includes(key) || config?.[key] === undefined || config[key] === before) continue;
      const meant = nearest(key, known);
      const hint = meant ? `; did you mean "${meant}"?` : '';
      warn(`${flow}: "${key}" is no setting of ${scope} and changes nothing${hint}`);
    }
  }
  checkCreation(flow, (definition.session ?? {}) as Config);
}

/** A session begins with its first request, and only the flow's code writes its state: no one else has to be kept off. */
function checkCreation(flow: string, { serverOwned, createCheck, stateSchema }: Config): void {
  needFields(serverOwned, stateSchema, `${flow}: session.serverOwned`);
  if (createCheck !== undefined) {
    warn(
      `${flow}: "session.createCheck" is not asked here: whoever runs the flow names the session, and sends no link`,
    );
  }
}

/** Tells of what a scope says for conflicts and changes nothing. */
export function warnOfDelays(definition: Config): void {
  for (const scope of ['session', 'user', 'project', 'org']) {
    const { cas } = (definition[scope] ?? {}) as { cas?: Config };
    if (cas?.baseDelayMs === undefined) continue;
    const setting = `Flow "${definition.kind as string}": "${scope}.cas.baseDelayMs"`;
    warn(`${setting} changes nothing here: a block that is run again waits for its turn`);
  }
}
