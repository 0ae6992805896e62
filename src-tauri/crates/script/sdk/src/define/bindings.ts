// Resources as plain data for the engine: each definition under each of its names gets a number.

import type { Block, Config } from './blocks';
import { currentToken, native } from '../base/host';
import { standsFor } from '../base/sources';
import { functionId, stateSchema } from './tables';
import { initialOf, reactionsTo, siteOfDefinition, type Declared, type Definition } from './resources';

const definitions: Definition[] = [];
const bound: { accessor: string; definition: Definition }[] = [];
/** Whether the flow keeps its people's or projects' records apart from other flows'. */
let isolation: Record<string, boolean> = {};

export function isolate({ isolateUserState, isolateProjectState, isolateOrgState }: Config): void {
  isolation = { user: isolateUserState === true, project: (isolateProjectState ?? isolateOrgState) === true };
}

/** The scopes of whose state the flow has its own. */
export function isolatedScopes(): string[] {
  return Object.keys(isolation).filter((scope) => isolation[scope]);
}

/** The definition behind a resource's number. */
export function definitionAt(id: number): Definition {
  return (bound[id] as { definition: Definition }).definition;
}

/** The stack of the call that made a definition, by the definition's own number. */
export function definedAt(definition: number): string {
  return siteOfDefinition(definitions[definition] as Definition);
}

/** Whether flows keep it apart from each other; the flow's own setting counts where it says nothing. */
export function isIsolated({ config, scope }: Definition): boolean {
  return (config.flowIsolation ?? isolation[scope]) === true;
}

/** A definition under a name: without a `ref` of its own, the name is where it lies. */
export function resource(
  { accessor, definition, nested }: Declared,
  owner: string,
  child: (block: Block) => number,
): Config {
  const { config } = definition;
  let id = bound.findIndex((one) => one.accessor === accessor && one.definition === definition);
  if (id < 0) id = bound.push({ accessor, definition }) - 1;
  if (!definitions.includes(definition)) definitions.push(definition);
  const { content, template } = definition.text;
  const schema = stateSchema(config.stateSchema);
  const described: Config = {
    id,
    definition: definitions.indexOf(definition),
    accessor,
    owner,
    nested,
    scope: definition.scope,
    isolated: isIsolated(definition),
    schema: schema && config.edges ? { ...schema, open: true } : schema,
    initial: initialOf(definition),
    content,
    template,
    writable: config.writable !== false,
    reactions: reactionsTo(definition).map(({ kind, block, when }) => ({
      kind,
      block: child(block),
      when: functionId(when),
    })),
  };
  if (definition.kind === 'resource') return { ...described, path: config.ref ?? accessor };
  return {
    ...described,
    pattern: config.pattern,
    max: config.maxInstances,
    eviction: config.eviction ?? 'none',
    stampsOrg: config.stampOrgId === true,
    onCreated: functionId(hookOf(definition, config.onInstanceCreated)),
    onUpdated: functionId(hookOf(definition, config.onInstanceUpdated)),
    onDeleted: functionId(hookOf(definition, config.onInstanceDeleted)),
  };
}

type Hook = (...args: unknown[]) => unknown;
/** By scope: collections of several scopes may have one callback. */
const hooks = new Map<string, Map<unknown, Hook>>();

/** A collection's callback. Its `ctx` is that of the block that writes, and tells of the collection, too. */
function hookOf({ config, scope }: Definition, hook: unknown): unknown {
  if (typeof hook !== 'function') return hook;
  const ofScope = hooks.get(scope) ?? new Map<unknown, Hook>();
  hooks.set(scope, ofScope);
  const known = ofScope.get(hook);
  if (known) return known;
  const made = standsFor((...args: unknown[]) => {
    const ctx = args.at(-1) as Record<string, { identity?: Record<'id' | 'userId' | 'orgId', string> } | undefined>;
    const owner = ctx[scope]?.identity;
    Object.assign(ctx, {
      log: (message: unknown) => native.sync('log', currentToken(), JSON.stringify(['log', String(message)])),
      scopeType: config.scope ?? scope,
      // A user's record may be one of several: of an organization, of a flow.
      scopeId: scope === 'user' ? owner?.userId : owner?.id,
      orgId: owner?.orgId,
    });
    return (hook as Hook)(...args);
  }, hook) as Hook;
  ofScope.set(hook, made);
  return made;
}
