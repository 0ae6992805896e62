// Resources as plain data for the engine: each definition under each of its names gets a number.

import type { Block, Config } from './blocks';
import { functionId, stateSchema } from './tables';
import { initialOf, reactionsTo, siteOfDefinition, type Declared, type Definition } from './resources';

const definitions: Definition[] = [];
const bound: { accessor: string; definition: Definition }[] = [];
/** Whether the flow keeps its people's or projects' records apart from other flows'. */
let isolation: Record<string, boolean> = {};

export function isolate({ isolateUserState, isolateProjectState, isolateOrgState }: Config): void {
  isolation = { user: isolateUserState === true, project: (isolateProjectState ?? isolateOrgState) === true };
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
  const { content, contentTemplate } = config;
  const described: Config = {
    id,
    definition: definitions.indexOf(definition),
    accessor,
    owner,
    nested,
    scope: definition.scope,
    isolated: isIsolated(definition),
    schema: stateSchema(config.stateSchema),
    initial: initialOf(definition),
    content,
    template: contentTemplate,
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
    onCreated: functionId(config.onInstanceCreated),
    onUpdated: functionId(config.onInstanceUpdated),
    onDeleted: functionId(config.onInstanceDeleted),
  };
}
