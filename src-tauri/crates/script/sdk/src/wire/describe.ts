// A flow as plain data for the engine: functions and schemas become numbers in two tables.

import { AgentBlock } from '../define/agents';
import { describeAgents } from './agents';
import { handlersOf, isBlock, type Block, type Config, type Fn } from '../define/blocks';
import { isolate, isolatedScopes, resource } from '../define/bindings';
import { budget, estimateCostsBy } from '../define/budgets';
import { capabilityIds, statesOf } from '../define/capabilities';
import { hasClientData } from './client-data';
import { declaresOrg } from './default-org';
import { checkContent } from '../context/ctx-arguments';
import { addressOf, entriesOf, type Entry } from '../define/entries';
import { rootOf, stackOfInstance, type Flow } from '../define/flow';
import { settle } from '../define/flow-config';
import { actionHooks, requestHooks } from '../define/hooks';
import { containerOf } from '../define/container';
import { generatorSettings } from '../define/generator';
import { cacheOf, warnOfNoCache } from '../define/tool-caches';
import { CallAgentBlock } from '../define/calls';
import { describeCalls } from './calls';
import { layersOf } from '../define/middleware';
import { originOf } from '../base/origins';
import { concurrencyOf, sessionPast } from '../define/policies';
import { receiveBy } from '../define/relay';
import { narrowBy } from '../define/resource-rule';
import { Sequencer } from '../define/sequencer';
import { standsFor } from '../base/sources';
import type { Declared } from '../define/resources';
import { functionId, retry, schemaId, startingWith, stateSchema, text, timeLimit } from '../define/tables';

const blockIds = new Map<Block, number>();
export const blocksById: Block[] = [];

const SCOPES: Record<string, string> = {
  requestStateSchema: 'request',
  sessionStateSchema: 'session',
  userStateSchema: 'user',
  projectStateSchema: 'project',
  orgStateSchema: 'project',
};

/** The flow's settings for tools, which reach every generator of it. */
let flowTools: Config = {};
/** The flow's middleware, which runs around every block of it. */
let flowLayers: unknown;

/** Everything the engine needs of a flow; `blocks` is indexed by the ids used elsewhere in it. */
export function describeFlow(flow: Flow): string {
  const declarations: Config[] = [];
  for (const scope of ['request', 'session', 'user', 'project', 'org']) {
    const schema = (flow.definition[scope] as Config | undefined)?.stateSchema;
    if (schema) {
      const kind = scope === 'org' ? 'project' : scope;
      declarations.push({ scope: kind, owner: `flow "${flow.kind}"`, schema: stateSchema(schema) });
    }
  }
  estimateCostsBy(flow);
  narrowBy(flow.definition);
  receiveBy(flow.definition);
  flowTools = (flow.definition.tools as Config | undefined) ?? {};
  flowLayers = flow.definition.middleware;
  const before = blocksById.length;
  settle(flow, stackOfInstance(flow));
  isolate(flow.definition);
  const blocks: Config[] = [];
  const resources = flow.ownResources.map((declared) =>
    resource(declared, `flow "${flow.kind}"`, (block) => describeBlock(block, blocks, declarations)),
  );
  const ids = (hooks: Record<string, Block>) =>
    Object.fromEntries(
      Object.entries(hooks).map(([name, block]) => [name, describeBlock(block, blocks, declarations)]),
    );
  const hooks = ids(requestHooks(flow.definition));
  const action = (what: string, given: Config, concurrency: ReturnType<typeof concurrencyOf>): Config =>
    describeAction(flow.kind, [what, given], concurrency, (block) => describeBlock(block, blocks, declarations));
  const actions: Record<string, Config> = {};
  for (const [name, given] of Object.entries(flow.actions)) {
    actions[name] = action(`action "${name}"`, given, concurrencyOf(flow.definition, given));
  }
  for (const entry of entriesOf(flow.definition)) {
    const { type, name, action: given } = entry;
    const address = addressOf(entry);
    if (address in actions) {
      throw new Error(`Flow "${flow.kind}": ${type} "${name}" and action "${address}" would have one name; rename one`);
    }
    actions[address] = {
      ...action(`${type} "${name}"`, given, concurrencyOfEntry(flow.definition, entry)),
      entry: { type, name, ...(type === 'schedule' ? timesOf(given) : {}) },
    };
  }
  warnOfNoCache(blocksById.slice(before));
  const settings = settingsOf(flow);
  return JSON.stringify({
    kind: flow.address,
    description: typeof flow.definition.description === 'string' ? flow.definition.description : undefined,
    actions,
    hooks,
    declarations,
    resources,
    blocks,
    settings,
    client: hasClientData(flow),
    declaresOrg: declaresOrg(flow.definition, flow.ownResources, blocksById.slice(before)),
    isolated: isolatedScopes(),
    resolves: typeof (flow.definition.schedules as Config | undefined)?.resolve === 'function',
  });
}

function describeAction(
  kind: string,
  [what, given]: [string, Config],
  concurrency: ReturnType<typeof concurrencyOf>,
  child: (block: Block) => number,
): Config {
  const root = rootOf(kind, what, given);
  return {
    block: child(root),
    inputSchema: schemaId(given.inputSchema ?? root.inputSchema),
    description: given.description ?? root.description,
    userMessage: functionId(spoken(given.userMessage as Fn | undefined)),
    tokenBudget: budget(kind, what, given.tokenBudget as Config | undefined),
    concurrency: policy(concurrency),
    hooks: Object.fromEntries(Object.entries(actionHooks(given)).map(([name, block]) => [name, child(block)])),
    requiresProject: requiresProject(root) || undefined,
  };
}

/** An entry that is found when it is fired, with whatever it brings along. */
export function describeResolved(flow: Flow, entry: Entry): string {
  const blocks: Config[] = [];
  const concurrency = concurrencyOfEntry(flow.definition, entry);
  const child = (block: Block) => describeBlock(block, blocks, []);
  const action = describeAction(flow.kind, [`${entry.type} "${entry.name}"`, entry.action], concurrency, child);
  return JSON.stringify({ action, blocks });
}

/** Whether a block, or one below it, refuses to run without a project. */
function requiresProject(root: Block): boolean {
  const seen = new Set<Block>();
  const waiting = [root];
  for (let block = waiting.pop(); block; block = waiting.pop()) {
    if (seen.has(block)) continue;
    seen.add(block);
    if (block.config.requireProject === true || block.config.requireOrg === true) return true;
    for (const child of block.children) waiting.push(child);
  }
  return false;
}

/** A schedule runs once at a time, unless its author says otherwise. */
function concurrencyOfEntry(definition: Config, { type, name, action }: Entry): ReturnType<typeof concurrencyOf> {
  if (type !== 'schedule' || action.concurrency !== undefined || action.onOverlap === 'allow') {
    return concurrencyOf(definition, action);
  }
  return { policy: 'reject', key: () => `schedule ${name}` };
}

function timesOf({ cron, timezone, enabled }: Config): Config {
  return { cron, timezone: typeof timezone === 'string' ? timezone : 'UTC', enabled: enabled !== false };
}

/** What the user said, which is what a message may be; nothing where there is nothing to say. */
function spoken(make: Fn | undefined): unknown {
  if (make === undefined) return undefined;
  const said = async (input: unknown, ctx: unknown): Promise<unknown> => {
    const content = (await (make as (input: unknown, ctx: unknown) => unknown)(input, ctx)) ?? undefined;
    try {
      if (content !== undefined) checkContent(content, originOf(make)?.what ?? 'userMessage', 'must return');
    } catch (error) {
      // The function has returned: its own call is on no stack any more.
      (error as Error).stack = originOf(make)?.stack ?? '';
      throw error;
    }
    return content;
  };
  return standsFor(said, make);
}

function policy(given: ReturnType<typeof concurrencyOf>): Config | undefined {
  return (
    given && {
      policy: given.policy,
      key: typeof given.key === 'function' ? { custom: functionId(given.key) } : given.key,
    }
  );
}

/** How requests of the flow treat state, and its sessions the past (SEMANTICS §4.4 and SEMANTICS §7.8). */
function settingsOf(flow: Flow): Config {
  const cas: Record<string, Config> = {};
  for (const scope of ['session', 'user', 'project', 'org']) {
    const given = (flow.definition[scope] as Config | undefined)?.cas as Config | undefined;
    if (!given) continue;
    const count = (value: unknown, otherwise: number) =>
      typeof value === 'number' && value >= 0 ? Math.floor(value) : otherwise;
    cas[scope] = { maxRetries: count(given.maxRetries, 3), baseDelayMs: count(given.baseDelayMs, 10) };
  }
  const request = (flow.definition.request ?? {}) as Config;
  const timeout = request.mutationTimeoutMs ?? 30_000;
  const limited = typeof timeout === 'number' && Number.isFinite(timeout) && timeout > 0;
  return {
    cas,
    mutationTimeoutMs: limited ? Math.floor(timeout) : undefined,
    cleanupCheckpoints: request.cleanupCheckpointsOnTerminal === true,
    ...sessionPast(flow.definition),
  };
}

/** A block made while the flow runs (a factory's), with whatever it brings along. */
export function describeLate(block: Block): string {
  const blocks: Config[] = [];
  const id = describeBlock(block, blocks, []);
  return JSON.stringify({ id, blocks });
}

function describeBlock(block: Block, blocks: Config[], declarations: Config[]): number {
  const known = blockIds.get(block);
  if (known !== undefined) return known;
  const id = blocksById.push(block) - 1;
  blockIds.set(block, id);
  const config = block.config;
  for (const key in SCOPES) {
    const schema = config[key] === undefined ? undefined : stateSchema(config[key]);
    if (schema) declarations.push({ scope: SCOPES[key], owner: `block "${block.name}"`, schema, site: id });
  }
  for (const { key, schema, by } of config.uses === undefined ? [] : statesOf(config)) {
    const owner = `${by} of block "${block.name}"`;
    declarations.push({ scope: SCOPES[key], owner, schema: stateSchema(schema), site: id });
  }
  const described: Config = {
    id,
    uses: config.uses === undefined ? undefined : capabilityIds(config),
    name: block.name,
    // An evaluator is a handler that asks a model.
    kind: block.kind === 'evaluator' ? 'handler' : block.kind,
    description: block.description,
    // The block that a tool wraps checks its input itself.
    inputSchema: schemaId(block.tool ? config.inputSchema : block.inputSchema),
    outputSchema: schemaId(config.outputSchema),
    stateSchema: startingWith(stateSchema(config.stateSchema), config.defaultState),
    expects: expectations(config, block.name, id),
    connectInput: functionId(config.connectInput),
    connectOutput: functionId(config.connectOutput),
    mapModelOutput: functionId(config.mapModelOutput),
    cache: cacheOf(block),
    onCompleted: functionId(withMeta(config.onCompleted)),
    onErrored: functionId(config.onErrored),
    retry: retry(config.retry as Config | undefined),
    timeoutMs: timeLimit(config.timeoutMs),
    // The block that a tool wraps has its own.
    middleware: block.tool ? undefined : layersOf(block, flowLayers),
    transient: config.transient === true || undefined,
    activeStatus: text(config.activeStatusMessage),
    container: config.container && containerOf(config.container, `${block.kind} "${block.name}"`),
    resources: resourcesOf(block, (inner) => describeBlock(inner, blocks, declarations)),
  };
  const child = (inner: Block) => describeBlock(inner, blocks, declarations);
  if (config.rescue) {
    described.rescue = handlersOf(config.rescue, block.name).map(({ when, block: inner }) => ({
      when,
      block: child(inner),
    }));
  }
  if (block instanceof AgentBlock) {
    Object.assign(described, { kind: 'agent', agent: describeAgents(block, child) });
  } else if (block instanceof CallAgentBlock) {
    Object.assign(described, { kind: 'calls', calls: describeCalls(block, child) });
  } else if (block.tool) {
    const { block: tool, ...identity } = config.asTool as Config & { block: Block };
    Object.assign(described, { kind: 'tool', tool: child(tool), ...identity });
  } else if (block instanceof Sequencer) {
    described.durable = config.durable !== false;
    described.steps = block.operations.map((operation) => ({
      op: operation.op,
      block: operation.block ? child(operation.block) : undefined,
      connector: functionId(operation.connector),
      signal: functionId(operation.signal),
      settled: functionId(operation.settled),
      condition: functionId(operation.condition),
      call: functionId(operation.call),
      arms: operation.arms?.map((arm) => ({
        key: arm.key,
        block: child(arm.block),
        connector: functionId(arm.connector),
        condition: functionId(arm.condition),
      })),
      each: functionId(operation.each),
      target: operation.target,
      limit: operation.limit,
      failOnError: operation.failOnError,
      timeoutMs: operation.timeoutMs,
    }));
  } else if (block.kind === 'router') {
    described.routes = (config.routes as Block[]).map(child);
    described.execute = functionId(config.execute);
    described.validateRoute = functionId(routeCheck(config));
  } else if (block.kind === 'handler' || block.kind === 'evaluator') {
    described.execute = functionId(config.execute);
  } else {
    described.generator = generatorSettings(config, flowTools, child);
  }
  blocks.push(described);
  return id;
}

/** The resources of what a chain's function makes a block of, which the flow has from the start. */
function resourcesOfItems(block: Block): Declared[] {
  const waiting = block instanceof Sequencer ? block.operations.flatMap(({ madeOf = [] }) => madeOf) : [];
  const seen = new Set<Block>();
  const found = new Map<string, Declared>();
  for (let inner = waiting.pop(); inner; inner = waiting.pop()) {
    if (seen.has(inner)) continue;
    seen.add(inner);
    for (const one of inner.ownResources) found.set(one.accessor, one);
    waiting.push(...inner.children);
  }
  return [...found.values()];
}

function resourcesOf(block: Block, child: (inner: Block) => number): Config[] | undefined {
  const declared = [...block.ownResources, ...resourcesOfItems(block)];
  if (declared.length === 0) return undefined;
  return declared.map((one) => resource(one, `block "${block.name}"`, child));
}

/** What a block says of the states around it: of its sequencer's, and of its targets' by their names. */
function expectations(config: Config, name: string, site: number): Config[] | undefined {
  if (config.sequencerStateSchema === undefined && config.targetStateSchemas === undefined) return undefined;
  const owner = `block "${name}"`;
  const targets = Object.entries((config.targetStateSchemas ?? {}) as Config);
  return [[undefined, config.sequencerStateSchema] as const, ...targets].flatMap(([target, given]) => {
    const schema = stateSchema(given);
    return schema ? [{ target, declaration: { scope: 'sequencer', owner, schema, site } }] : [];
  });
}

/** `onCompleted(output, ctx, meta?)`: the engine calls with `(output, meta?)`, and `ctx` comes last. */
function withMeta(hook: unknown): unknown {
  if (typeof hook !== 'function') return undefined;
  const call = hook as (...args: unknown[]) => unknown;
  const passed = (...args: unknown[]) => (args.length === 3 ? call(args[0], args[2], args[1]) : call(...args));
  return standsFor(passed, hook);
}

/** `validateRoute(candidate, routes, input, ctx)`: the engine knows the candidate by its name. */
function routeCheck({ validateRoute, routes }: Config): unknown {
  if (typeof validateRoute !== 'function') return undefined;
  const candidates = routes as Block[];
  const check = (name: string, input: unknown, ctx: unknown) => {
    const made = [...candidates, ...blocksById].findLast((block) => block.name === name);
    const candidate = candidates.find((route) => route.name === name) ?? made;
    return (validateRoute as (...args: unknown[]) => unknown)(candidate, candidates, input, ctx);
  };
  return standsFor(check, validateRoute);
}

export { isBlock };
