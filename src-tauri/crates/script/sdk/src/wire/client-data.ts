// What a client sees of a flow's state: exposed fields as they are, derived ones computed
// (SEMANTICS §7.9). A scope or a resource that says nothing shows nothing.
//
// Must not: wait for anything outside; projections are functions of what is there.

import type { Config } from '../define/blocks';
import { isIsolated } from '../define/bindings';
import type { Flow } from '../define/flow';
import { initialOf } from '../define/resources';

/** States as the engine has them: by scope, and resources by `<scope>/<path>`. */
type States = Record<string, Config> & { resources?: Record<string, Config> };

const SCOPES = ['request', 'session', 'user', 'project', 'org'];

function projection(flow: Flow, scope: string): { expose: string[]; derived: Config } | undefined {
  const config = flow.definition[scope] as Config | undefined;
  const client = config?.client as { expose?: string[]; derived?: Config } | undefined;
  const older = config?.clientData as Config | undefined;
  return client || older ? { expose: client?.expose ?? [], derived: { ...older, ...client?.derived } } : undefined;
}

/** Whether any scope or resource of the flow shows something to clients. */
export function hasClientData(flow: Flow): boolean {
  return (
    SCOPES.some((scope) => projection(flow, scope)) ||
    flow.allResources.some(({ definition }) => definition.config.client)
  );
}

function resourcesByName(flow: Flow, states: States): Record<string, { state: Config }> {
  const found: Record<string, { state: Config }> = {};
  for (const { accessor, definition } of flow.allResources) {
    if (definition.kind !== 'resource') continue;
    const owner = isIsolated(definition) ? `${definition.scope}:${flow.kind}` : definition.scope;
    const path = `${owner}/${String(definition.config.ref ?? accessor)}`;
    // Nobody has written it yet: a block would see what it starts as.
    found[accessor] = { state: states.resources?.[path] ?? initialOf(definition) };
  }
  return found;
}

function ofResource(client: Config, state: Config): unknown {
  const fields = (wanted: (name: string) => boolean) =>
    Object.fromEntries(Object.entries(state).filter(([name]) => wanted(name)));
  if (typeof client.data === 'function') return (client.data as (state: Config) => unknown)(state);
  if (Array.isArray(client.expose)) return fields((name) => (client.expose as string[]).includes(name));
  if (Array.isArray(client.exclude)) return fields((name) => !(client.exclude as string[]).includes(name));
  return state;
}

/** `{ <scope>: { <name>: value }, resources: { <accessor>: … } }`, without what is not there. */
export async function clientData(flow: Flow, states: States): Promise<Config> {
  const seen: Config = {};
  const resources = resourcesByName(flow, states);
  for (const scope of SCOPES) {
    const state = states[scope === 'org' ? 'project' : scope];
    const shown = projection(flow, scope);
    if (!state || !shown) continue;
    const values: Config = {};
    for (const name of shown.expose) values[name] = state[name];
    for (const [name, derive] of Object.entries(shown.derived)) {
      values[name] = await (derive as (given: Config) => unknown)({ state, resources });
    }
    seen[scope] = values;
  }
  const projected: Config = {};
  for (const { accessor, definition } of flow.allResources) {
    const resource = resources[accessor];
    if (definition.config.client && resource) {
      projected[accessor] = await ofResource(definition.config.client as Config, resource.state);
    }
  }
  if (Object.keys(projected).length > 0) seen.resources = projected;
  return seen;
}
