// defineFlow: checks what can be checked when a file loads, and keeps the definition.

import { describeValue, needFunction } from '../base/arguments';
import { isBlock, type Block, type Config } from './blocks';
import { budget } from './budgets';
import { needFields } from './checks';
import { checkHooks } from './hooks';
import { warn, warnOfSlots, warnOfUnknown } from './known-keys';
import { checkPolicies } from './policies';
import { checkProjection } from './projections';
import { checkAddresses } from './addresses';
import { checkConfigSchema, configOf } from './flow-config';
import { addressOf, checkEntries, entriesOf, runnableOf } from './entries';
import { checkIdentity, checkOffers, isOneOfMany, mint } from './instances';
import { warnInsideFlow } from './nested-keys';
import { checkRetryOfTools } from './retry-checks';
import { needLayers } from './middleware';
import { keepOrigin } from '../base/origins';
import { checkRule } from './resource-rule';
import { declaredIn, type Declared } from './resources';
import { checkScopeKeys, warnOfDelays } from './scope-keys';
import { isSchema } from '../base/schema';

export class Flow {
  constructor(readonly definition: Config) {}

  get kind(): string {
    return this.definition.kind as string;
  }

  get id(): string {
    return (this.definition.id as string | undefined) ?? this.kind;
  }

  /** By what it is run: of many of one kind the id, and otherwise the kind. */
  get address(): string {
    return isOneOfMany(this.definition) ? this.id : this.kind;
  }

  get actions(): Record<string, Config> {
    return (this.definition.actions ?? {}) as Record<string, Config>;
  }

  get requireUser(): boolean {
    const { authentication, requireUser } = this.definition as { authentication?: Config; requireUser?: unknown };
    return (authentication?.requireUser ?? requireUser) !== false;
  }

  /** Its settings, as `ctx.flow.config` has them. A definition that needs some has none. */
  get config(): Readonly<Config> {
    const known = settings.get(this.definition);
    if (known) return known;
    const found = Object.freeze(madeOf.has(this.definition) ? configOf(this) : (this.configIfGiven() ?? {}));
    settings.set(this.definition, found);
    return found;
  }

  private configIfGiven(): Config | undefined {
    try {
      return configOf(this);
    } catch {
      return undefined;
    }
  }

  /** The resources that the flow itself declares. */
  get ownResources(): readonly Declared[] {
    return resourcesOf(this.definition);
  }

  /** Those, and what its blocks declare under other names. */
  get allResources(): readonly Pick<Declared, 'accessor' | 'definition'>[] {
    return allResources(this.definition);
  }
}

function allResources(definition: Config): Pick<Declared, 'accessor' | 'definition'>[] {
  const found: Pick<Declared, 'accessor' | 'definition'>[] = [...resourcesOf(definition)];
  const roots = runnableOf(definition).map(([, action]) => (action.block ?? action.steps) as Block);
  for (const [accessor, one] of roots.flatMap((root) => Object.entries(root.declaredResources ?? {}))) {
    if (!found.some((known) => known.accessor === accessor)) found.push({ accessor, definition: one });
  }
  return found;
}

function resourcesOf(definition: Config): readonly Declared[] {
  const where = `Flow "${definition.kind as string}"`;
  const places = ['session', 'user', 'project', 'org'].flatMap((scope) =>
    declaredIn(
      definition[scope] as Config | undefined,
      [['resources', scope === 'org' ? 'project' : scope]],
      `${where}: ${scope}`,
    ),
  );
  const own = [...declaredIn(definition, [['resources']], where), ...places];
  const lazy = own.find(({ definition: one }) => one.kind === 'resource' && one.config.prefetchMode === 'lazy');
  if (lazy) {
    throw new Error(`${where}: resource "${lazy.accessor}" is lazy, but no block would load it; declare it on a block`);
  }
  return own;
}

/** Every flow that was defined while the file loaded, with the stack of its definition. */
const made: [kind: string, stack: string][] = [];

/** The settings of flows that were asked for them. */
const settings = new WeakMap<Config, Readonly<Config>>();
/** Of an instance of a flow: the definition that it is made of. */
const madeOf = new WeakMap<Config, Config>();
/** Where a definition stands. */
const stacks = new WeakMap<Config, string>();

function root(flow: Flow): Config {
  return madeOf.get(flow.definition) ?? flow.definition;
}

/** Where a flow is defined; that of an instance is where the definition is that it was made of. */
export function stackOf(flow: Flow): string {
  return stacks.get(root(flow)) ?? '';
}

/** Where a flow or an instance of one is made. */
export function stackOfInstance(flow: Flow): string {
  return stacks.get(flow.definition) ?? '';
}

/** Where the flow is made that is listed: of many of one kind, each has a place of its own. */
export function placeOf(flow: Flow): string {
  return isOneOfMany(flow.definition) ? stackOfInstance(flow) : stackOf(flow);
}

/**
 * The flows that a file exports, in the order of its exports; a list exports each that it holds. Each instance of a
 * collection is one, and so is an instance with another kind than its definition's. Otherwise a definition and its
 * instances are one: that of the default export, or else its first instance.
 */
export function flowsOf(exported: unknown[], main: unknown): Flow[] {
  const found = new Map<Config, Flow[]>();
  for (const flow of new Set(exported.flat().filter(isFlow))) {
    // An instance with a kind of its own is a flow of its own.
    const definition = flow.kind === root(flow).kind ? root(flow) : flow.definition;
    found.set(definition, [...(found.get(definition) ?? []), flow]);
  }
  return [...found].flatMap(([definition, same]) => {
    const instances = same.filter((flow) => flow.definition !== definition);
    if (instances.length > 0 && definition.cardinality === 'collection') return instances;
    const chosen = same.find((flow) => flow === main) ?? instances[0] ?? (same[0] as Flow);
    if (instances.length > 1) {
      const ids = instances.map((flow) => `"${flow.id}"`).join(', ');
      warn(`Flow "${chosen.kind}": of its instances that are exported, ${ids}, only "${chosen.id}" can be run`);
    }
    return chosen;
  });
}

/**
 * What a file without a flow may have meant for one: flows that were defined and not exported, and
 * a default export that was never given to `defineFlow`.
 */
export function missed(exported: unknown): { made: typeof made; plain?: string } {
  const { kind, actions } = (isFlow(exported) ? {} : (exported ?? {})) as Config;
  const plain = typeof kind === 'string' && typeof actions === 'object' && actions !== null;
  return plain ? { made, plain: kind } : { made };
}

type FlowType = Flow & ((options?: Config) => FlowType);

/** `defineFlow(definition)`: the flow itself, and a factory of instances of it (SEMANTICS §1.1). */
export function defineFlow(definition: Config): FlowType {
  if (typeof definition !== 'object' || definition === null) {
    throw new Error(
      `defineFlow needs a definition object, like defineFlow({ kind: "…", actions: { … } }), got ${describeValue(definition)}`,
    );
  }
  if (typeof definition.kind !== 'string' || definition.kind.trim() === '') {
    throw new Error(`defineFlow: "kind" must be a non-empty string, got ${describeValue(definition.kind)}`);
  }
  const actions = definition.actions ?? {};
  if (typeof actions !== 'object' || actions === null || Array.isArray(actions)) {
    throw new Error(`Flow "${definition.kind}": "actions" must be an object of actions, got ${describeValue(actions)}`);
  }
  checkEntries(definition);
  for (const [name, action] of runnableOf(definition)) {
    refuseCycles(rootOf(definition.kind, name, action));
    budget(definition.kind, name, action.tokenBudget as Config | undefined);
    if (action.userMessage !== undefined) {
      const what = `Flow "${definition.kind}": ${name}: userMessage`;
      keepOrigin(what, [needFunction(action.userMessage, what)]);
    }
  }
  needLayers(definition.middleware, `Flow "${definition.kind}"`);
  checkRule(definition, `Flow "${definition.kind}"`);
  const roots = runnableOf(definition).map(([what, action]) => rootOf(definition.kind as string, what, action));
  const entries = new Set(entriesOf(definition).map(addressOf));
  checkAddresses(definition.kind, roots, (type, name) => entries.has(`${type}:${name}`));
  for (const scope of ['request', 'session', 'user', 'project', 'org']) {
    const schema = (definition[scope] as Config | undefined)?.stateSchema;
    if (schema !== undefined && !isSchema(schema)) {
      throw new Error(
        `Flow "${definition.kind}": ${scope}.stateSchema must be a zod schema, got ${describeValue(schema)}`,
      );
    }
    needFields(schema, `Flow "${definition.kind}": ${scope}.stateSchema`);
    if (!madeOf.has(definition)) warnOfSlots(schema, `Flow "${definition.kind}": ${scope}.stateSchema`);
    checkProjection(definition[scope] as Config | undefined, `Flow "${definition.kind}": ${scope}`);
  }
  checkHooks(definition);
  checkPolicies(definition);
  needUser(definition);
  checkConfigSchema(definition);
  checkOffers(definition);
  checkIdentity(definition);
  // An instance is told of where its definition stands.
  const isInstance = madeOf.has(definition);
  checkScopeKeys(definition, madeOf.get(definition));
  checkRetryOfTools(definition.tools, `Flow "${definition.kind}": tools`);
  if (!isInstance) {
    warnInsideFlow(definition, runnableOf(definition));
    warnOfUnknown('flow', definition, `Flow "${definition.kind}"`);
    warnOfDelays(definition);
    if (Object.keys(actions).length === 0 && entriesOf(definition).length === 0) {
      warn(`Flow "${definition.kind}" has no actions, so there is nothing in it to run`);
    }
  }
  const stack = new Error().stack ?? '';
  made.push([definition.kind, stack]);
  stacks.set(definition, stack);
  const factory = (options: Config = {}): FlowType => {
    const minted = mint(definition, options);
    madeOf.set(minted, madeOf.get(definition) ?? definition);
    return defineFlow(minted);
  };
  return Object.setPrototypeOf(Object.assign(factory, { definition }), Flow.prototype) as FlowType;
}

/** A block that contains itself has no end. Only a list that is changed after it was given makes one. */
function refuseCycles(root: Block): void {
  const done = new Set<Block>();
  const around = new Set<Block>();
  const visit = (block: Block): void => {
    if (done.has(block)) return;
    if (around.has(block)) throw new Error(`${block.kind} "${block.name}" contains itself`);
    around.add(block);
    block.children.forEach(visit);
    around.delete(block);
    done.add(block);
  };
  visit(root);
}

/** A flow that may run for nobody has nothing that belongs to somebody. */
function needUser(definition: Config): void {
  const required = (definition.authentication as Config | undefined)?.requireUser ?? definition.requireUser;
  if (required !== false) return;
  const { stateSchema, client } = (definition.user ?? {}) as { stateSchema?: unknown; client?: object };
  const refuse = (what: string): never => {
    throw new Error(`Flow "${definition.kind as string}": requireUser: false and ${what} cannot both hold`);
  };
  if (stateSchema) refuse('user.stateSchema');
  if (client && Object.keys(client).length > 0) refuse('user.client');
  const personal = allResources(definition).find(({ definition: one }) => one.scope === 'user');
  if (personal) refuse(`the user resource "${personal.accessor}"`);
}

export function isFlow(value: unknown): value is Flow {
  return typeof value === 'function' && (value as object) instanceof Flow;
}

/** The root block of an action (`action "say"`) or an entry; `steps` is an older spelling of `block`. */
export function rootOf(kind: string, name: string, action: Config): Block {
  const root = action?.block ?? action?.steps;
  if (!isBlock(root)) {
    throw new Error(
      `Flow "${kind}": ${name} needs a block (\`block\` or \`steps\`), got ${describeValue(root ?? action)}`,
    );
  }
  if (action.inputSchema !== undefined && !isSchema(action.inputSchema)) {
    throw new Error(
      `Flow "${kind}": ${name}: inputSchema must be a zod schema, got ${describeValue(action.inputSchema)}`,
    );
  }
  return root;
}
