// A flow as plain data for the engine: functions and schemas become numbers in two tables.

import { Block, isBlock, needHandlers, type Config, type Fn, type Handler } from './blocks';
import { isolate, resource } from './bindings';
import { rootOf, type Flow } from './flow';
import { fieldsOf, isSchema, type AnySchema } from './schema';
import { Sequencer } from './sequencer';

export const functions: Fn[] = [];
export const schemas: AnySchema[] = [];
const functionIds = new Map<Fn, number>();
const schemaIds = new Map<AnySchema, number>();
const blockIds = new Map<Block, number>();
export const blocksById: Block[] = [];

export function functionId(fn: unknown): number | undefined {
  if (typeof fn !== 'function') return undefined;
  let id = functionIds.get(fn as Fn);
  if (id === undefined) {
    id = functions.push(fn as Fn) - 1;
    functionIds.set(fn as Fn, id);
  }
  return id;
}

function schemaId(schema: unknown): number | undefined {
  if (!isSchema(schema)) return undefined;
  let id = schemaIds.get(schema);
  if (id === undefined) {
    id = schemas.push(schema) - 1;
    schemaIds.set(schema, id);
  }
  return id;
}

export function stateSchema(schema: unknown): Config | undefined {
  const id = schemaId(schema);
  return id === undefined ? undefined : { id, fields: fieldsOf(schema as AnySchema) };
}

/** A text, or a function that makes one. */
function text(value: unknown): Config | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'function' ? { call: functionId(value) } : { fixed: value };
}

const SCOPES: [string, string][] = [
  ['requestStateSchema', 'request'],
  ['sessionStateSchema', 'session'],
  ['userStateSchema', 'user'],
  ['projectStateSchema', 'project'],
  ['orgStateSchema', 'project'],
];

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
  isolate(flow.definition);
  const resources = flow.ownResources.map((declared) => resource(declared, `flow "${flow.kind}"`));
  const blocks: Config[] = [];
  const actions: Record<string, Config> = {};
  for (const [name, action] of Object.entries(flow.actions)) {
    const root = rootOf(flow.kind, name, action);
    actions[name] = {
      block: describeBlock(root, blocks, declarations),
      inputSchema: schemaId(action.inputSchema ?? root.inputSchema),
      description: action.description ?? root.description,
      userMessage: functionId(action.userMessage),
    };
  }
  return JSON.stringify({ kind: flow.kind, actions, declarations, resources, blocks });
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
  for (const [key, scope] of SCOPES) {
    const schema = stateSchema(config[key]);
    if (schema) declarations.push({ scope, owner: `block "${block.name}"`, schema });
  }
  const described: Config = {
    id,
    name: block.name,
    kind: block.kind,
    description: block.description,
    inputSchema: schemaId(block.inputSchema),
    outputSchema: schemaId(config.outputSchema),
    stateSchema: stateSchema(config.stateSchema),
    connectInput: functionId(config.connectInput),
    connectOutput: functionId(config.connectOutput),
    onCompleted: functionId(config.onCompleted),
    onErrored: functionId(config.onErrored),
    retry: retry(config.retry as Config | undefined),
    transient: config.transient === true,
    activeStatus: text(config.activeStatusMessage),
    resources: block.ownResources.map((declared) => resource(declared, `block "${block.name}"`)),
  };
  const child = (inner: Block) => describeBlock(inner, blocks, declarations);
  if (config.rescue) {
    described.rescue = handlersOf(config.rescue, block.name).map(({ when, block: inner }) => ({ when, block: child(inner) }));
  }
  if (block instanceof Sequencer) {
    described.durable = config.durable !== false;
    described.steps = block.operations.map((operation) => ({
      op: operation.op,
      block: operation.block ? child(operation.block) : undefined,
      connector: functionId(operation.connector),
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
    described.validateRoute = functionId(config.validateRoute);
  } else if (block.kind === 'handler') {
    described.execute = functionId(config.execute);
  } else {
    described.generator = generatorSettings(config, child);
  }
  blocks.push(described);
  return id;
}

/** Handlers from `.rescue(…)` are read already; those of a configuration are not. */
function handlersOf(rescue: unknown, name: string): Handler[] {
  const read = Array.isArray(rescue) && rescue.every((one: Handler) => one.when?.every((w) => typeof w === 'string'));
  return read ? (rescue as Handler[]) : needHandlers(rescue, name);
}

function generatorSettings(config: Config, child: (block: Block) => number): Config {
  const prompt = Array.isArray(config.prompt) ? config.prompt : [config.prompt];
  const output = config.outputSchema as AnySchema | undefined;
  const kind = output?._def?.typeName ?? output?._zod?.def.type;
  return {
    model: text(config.model),
    prompt: prompt.map(text).filter((part) => part !== undefined),
    user: text(config.user),
    history: config.history === true || (typeof config.history === 'object' && config.history !== null),
    structured: output !== undefined && kind !== 'ZodString' && kind !== 'string',
    agentType: config.agentType,
    itemVisibility: config.itemVisibility,
    agentName: config.agentName,
    context: contextParts(config.context),
    tools: Array.isArray(config.tools) ? (config.tools as Block[]).map(child) : [],
    toolsCall: functionId(config.tools),
    maxIterations: Number((config.loop as Config | undefined)?.maxIterations ?? config.maxIterations ?? 8),
    runTools: (config.loop as Config | undefined)?.runTools !== false,
  };
}

/** The entries of `context`, in order; objects stay whole, their functions become one call. */
function contextParts(context: unknown): (Config | undefined)[] {
  if (context === undefined || context === null) return [];
  if (Array.isArray(context)) return context.flatMap(contextParts);
  if (typeof context === 'object' && !('content' in context)) {
    const entries = Object.entries(context);
    const make = async (input: unknown, ctx: unknown) => {
      const made: Config = {};
      for (const [key, value] of entries) {
        made[key] = typeof value === 'function' ? await (value as (i: unknown, c: unknown) => unknown)(input, ctx) : value;
      }
      return made;
    };
    return [text(make)];
  }
  return [text(context)];
}

function retry(config: Config | undefined): Config | undefined {
  if (!config) return undefined;
  const classes = (config.retryableErrors as { name: string }[] | undefined) ?? [];
  return {
    maxAttempts: Math.max(1, Number(config.maxAttempts ?? 1)),
    baseDelayMs: Number(config.baseDelayMs ?? 0),
    maxDelayMs: Number(config.maxDelayMs ?? 10_000),
    retryableErrors: classes.map((error) => error.name),
  };
}

export { isBlock };
