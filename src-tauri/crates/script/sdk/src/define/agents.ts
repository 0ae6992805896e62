// The builders of agents: they check and keep what a file says of its agents, prompts, tools and hooks.
//
// A file has one agent that is run, its default export. Tools are known by the names they are exported under, or of
// their files in a project; prompts and agents by their own. Must not: run anything; Rust takes the turns (SEMANTICS §16).

import { describeValue, needFunction, type Fn } from '../base/arguments';
import { Block, type Config } from './blocks';
import { defineFlow, isFlow, type Flow } from './flow';
import { warnOfOthers, warnOfSide } from './agent-keys';
import { Model } from './agent-models';
import { nearest, warn } from './known-keys';
import { checkModelOptions } from './prompt-options';
import { messageInput } from './agent-input';
import { isSchema, type AnySchema } from '../base/schema';

/** A function that a model can call. */
export class Tool {
  constructor(
    readonly description: string,
    readonly args: AnySchema | undefined,
    readonly execute: Fn,
  ) {}
}

/** What a model is told. */
export class Prompt {
  constructor(readonly definition: Config) {}

  get name(): string {
    return this.definition.name as string;
  }
}

const HOOKS = [
  'filter_messages',
  'prefilter_llm_history',
  'before_create_message',
  'after_create_message',
  'before_update_message',
  'after_update_message',
  'after_tool_call_success',
  'after_tool_call_failure',
];

const LATER_HOOKS = [
  'after_thread_created',
  'after_system_message',
  'tool_call_started',
  'tool_call_done',
  'before_store_tool_result',
  'after_subagent_created',
  'user_client_attached',
  'user_client_detached',
  'user_value_changed',
];

/** Everything that was defined, in the file's order; `tools` by the names of its exports. */
const prompts = new Map<string, Prompt>();
const agents = new Map<string, Config>();
const hooks: { hook: string; execute: Fn }[] = [];
const tools = new Map<string, Tool>();

/** The block of an agent: its definitions are read when the file is described, because exports have names only then. */
export class AgentBlock extends Block {
  constructor(readonly agent: string) {
    super('sequencer', { name: agent });
  }
}

/** Where each prompt and agent is defined: what they name is looked up later, when no line of the author's runs. */
const definedAt = new WeakMap<Config, string>();

function keepPlace(definition: Config): void {
  definedAt.set(definition, new Error().stack ?? '');
}

/** An error about what is written in a definition. */
function errorAt(definition: Config, message: string): Error {
  return Object.assign(new Error(message), { definedAt: definedAt.get(definition) });
}

function needText(value: unknown, where: string): string {
  if (typeof value === 'string' && value.trim() !== '') return value;
  throw new TypeError(`${where} needs a text, got ${describeValue(value)}`);
}

function needObject(value: unknown, where: string): Config {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Config;
  throw new TypeError(`${where} needs an object, got ${describeValue(value)}`);
}

/** `defineTool(description, args?, handler, returnSchema?)`, or one object with these. */
export function defineTool(first: unknown, ...rest: unknown[]): Tool {
  const given = typeof first === 'object' && first !== null ? (first as Config) : undefined;
  const description = needText(given ? given.description : first, 'defineTool: description');
  const args = given ? given.args : isSchema(rest[0]) ? rest[0] : undefined;
  const execute = given ? given.execute : typeof rest[0] === 'function' ? rest[0] : rest[1];
  if (!given && rest.length > 1 && rest[0] !== undefined && rest[0] !== null && typeof rest[0] !== 'function') {
    if (!isSchema(rest[0])) {
      throw new TypeError(`defineTool: the arguments need a zod schema, got ${describeValue(rest[0])}`);
    }
  }
  if (args !== undefined && !isSchema(args)) {
    throw new TypeError(`defineTool: args needs a zod schema, got ${describeValue(args)}`);
  }
  warnOfOthers('tool', 'defineTool', given ?? { returnSchema: rest[1] === execute ? rest[2] : rest[1] });
  return new Tool(description, args, needFunction(execute, 'defineTool: the handler (flow, args) => …'));
}

export function definePrompt(given: unknown): Prompt {
  const definition = needObject(given, 'definePrompt');
  const name = needText(definition.name, 'definePrompt: name');
  const where = `Prompt "${name}"`;
  if (prompts.has(name)) throw new Error(`${where} is defined twice`);
  partsOf(definition.prompt, where);
  modelsOf(definition.model, where);
  toolsOf(definition, where);
  if (definition.requiredSchema !== undefined && !isSchema(definition.requiredSchema)) {
    throw new TypeError(`${where}: requiredSchema needs a zod schema, got ${describeValue(definition.requiredSchema)}`);
  }
  for (const field of ['includeChat', 'includePastTools']) {
    const value = definition[field];
    if (value !== undefined && typeof value !== 'boolean') {
      throw new TypeError(`${where}: ${field} is true or false, not ${describeValue(value)}`);
    }
  }
  checkModelOptions(definition, where);
  warnOfOthers('prompt', where, definition);
  for (const [at, tool] of listedTools(definition).entries()) {
    if (typeof tool === 'object') warnOfOthers('tool of a prompt', `${where}: tools[${at}]`, tool as Config);
  }
  const prompt = new Prompt(definition);
  keepPlace(definition);
  prompts.set(name, prompt);
  return prompt;
}

/** The parts of a prompt's text, as the engine reads them. */
export function partsOf(prompt: unknown, where: string): Config[] {
  if (typeof prompt === 'string') return [{ text: prompt }];
  if (!Array.isArray(prompt)) throw new TypeError(`${where}: prompt needs a text, got ${describeValue(prompt)}`);
  return prompt.map((part: unknown, at) => {
    if (typeof part === 'string') return { text: part };
    const given = needObject(part, `${where}: prompt[${at}]`);
    const of = (field: string) => needText(given[field], `${where}: prompt[${at}].${field}`);
    switch (given.type) {
      case 'text':
        return { text: typeof given.content === 'string' ? given.content : of('content') };
      case 'include':
        return { include: of('prompt') };
      // The older forms: their field has the name of their type, or one of these.
      case 'string': {
        const field = ['string', 'value', 'text'].find((name) => typeof given[name] === 'string') ?? 'content';
        return { text: typeof given[field] === 'string' ? given[field] : of(field) };
      }
      case 'prompt':
        return { include: of('prompt' in given ? 'prompt' : 'name' in given ? 'name' : 'prompt') };
      case 'env':
        return { env: of('property') };
      case 'variable':
        return { variable: of('name' in given ? 'name' : 'variable') };
      default:
        throw new TypeError(
          `${where}: prompt[${at}].type is "text", "include", "env" or "variable", not ${describeValue(given.type)}`,
        );
    }
  });
}

/** A model's name, or several to try in turn. */
export function modelsOf(model: unknown, where: string): string[] {
  const listed = Array.isArray(model) ? model : [model];
  if (listed.length === 0) throw new TypeError(`${where} needs a model`);
  return listed.map((one) => (one instanceof Model ? one.name : needText(one, `${where}: model`)));
}

/** What a prompt may call; its `handoffAgents` are agents. */
export function toolsOf(definition: Config, where: string): Config[] {
  for (const field of ['tools', 'handoffAgents']) {
    const listed = definition[field] ?? [];
    if (!Array.isArray(listed)) {
      throw new TypeError(`${where}: ${field} needs a list of names, got ${describeValue(listed)}`);
    }
  }
  return listedTools(definition).map((tool, at) => {
    if (typeof tool === 'string') return toolOf({ name: tool }, `${where}: tools[${at}]`);
    return toolOf(needObject(tool, `${where}: tools[${at}]`), `${where}: tools[${at}]`);
  });
}

function listedTools(definition: Config): unknown[] {
  return [definition.tools ?? [], definition.handoffAgents ?? []].flat();
}

function toolOf(tool: Config, where: string): Config {
  return {
    name: needText(tool.name, `${where}.name`),
    initUserMessageProperty: tool.initUserMessageProperty,
    includeTextResponse: tool.includeTextResponse !== false,
    includeToolCalls: tool.includeToolCalls !== false,
    includeErrors: tool.includeErrors !== false,
  };
}

/** Hooks of newer versions, which are never called. */
const uncalledHooks = new WeakSet<object>();

export const isHook = (value: unknown): boolean =>
  hooks.some((hook) => hook === value) || (typeof value === 'object' && value !== null && uncalledHooks.has(value));

export function defineHook(given: unknown, fn?: unknown): { hook: string; execute: Fn } {
  const definition = typeof given === 'object' && given !== null ? (given as Config) : { hook: given, execute: fn };
  const hook = definition.hook as string;
  if (LATER_HOOKS.includes(hook)) {
    warn(
      `defineHook: "${hook}" is a hook of a newer version, which Flowglass does not call; there are ${HOOKS.join(', ')}`,
    );
    const uncalled = { hook, execute: needFunction(definition.execute, `defineHook("${hook}")`) };
    uncalledHooks.add(uncalled);
    return uncalled;
  }
  if (!HOOKS.includes(hook)) {
    const meant = typeof hook === 'string' ? nearest(hook, HOOKS) : undefined;
    throw new Error(
      `defineHook: there is no hook ${describeValue(hook)}${meant ? `; did you mean "${meant}"?` : ''}; there are ${HOOKS.join(', ')}`,
    );
  }
  const made = { hook, execute: needFunction(definition.execute, `defineHook("${hook}")`) };
  hooks.push(made);
  return made;
}

/** `defineAgent(definition)`: a flow with one action, `message`. */
export function defineAgent(given: unknown): Flow {
  const definition = needObject(given, 'defineAgent');
  const name = needText(definition.name, 'defineAgent: name');
  const where = `Agent "${name}"`;
  if (agents.has(name)) throw new Error(`${where} is defined twice`);
  const { type } = definition;
  if (type !== undefined && type !== 'ai_human' && type !== 'dual_ai') {
    throw new Error(`${where}: type is "ai_human" or "dual_ai", not ${describeValue(type)}`);
  }
  const sides = [sideOf(definition, 'sideA', where), sideOf(definition, 'sideB', where)];
  if (sides.every((side) => side.prompt === undefined)) {
    throw new Error(`${where}: both sides are human; sideA or sideB needs a prompt`);
  }
  if (type === 'dual_ai' && sides.some((side) => side.prompt === undefined)) {
    throw new Error(`${where}: a dual_ai agent needs a prompt on both sides`);
  }
  if (type === 'ai_human' && sides.every((side) => side.prompt !== undefined)) {
    throw new Error(`${where}: an ai_human agent has a prompt on one side only; use type: "dual_ai"`);
  }
  const most = count(definition.maxSessionTurns, `${where}: maxSessionTurns`, 1);
  if (most !== undefined && most > 250) throw new Error(`${where}: maxSessionTurns is at most 250, not ${most}`);
  warnOfOthers('agent', where, definition);
  for (const key of ['sideA', 'sideB'] as const) {
    warnOfSide(`${where}: ${key}`, (definition[key] ?? {}) as Config);
  }
  keepPlace(definition);
  agents.set(name, definition);
  return defineFlow({
    kind: name,
    description: definition.description,
    request: { concurrency: 'queue' },
    actions: {
      message: {
        block: new AgentBlock(name),
        inputSchema: messageInput(),
        description: definition.description ?? `A message to the agent "${name}"`,
      },
    },
  });
}

/** A side with the names that the engine reads, whichever spelling the author used. */
function sideOf(definition: Config, key: 'sideA' | 'sideB', where: string): Config {
  const at = `${where}: ${key}`;
  const side = definition[key] === undefined ? {} : needObject(definition[key], at);
  if (side.handler !== undefined) {
    throw new Error(
      `${at}.handler: sides that code speaks for are not there; give the side a prompt, or leave it to a person`,
    );
  }
  if (side.human === true && side.prompt !== undefined) throw new Error(`${at} is human and has a prompt`);
  const prompt = side.prompt instanceof Prompt ? side.prompt.name : side.prompt;
  if (prompt !== undefined) needText(prompt, `${at}.prompt`);
  const { stopOnResponse = true, stopTool, stopToolResponseProperty } = side;
  if (typeof stopOnResponse !== 'boolean') {
    throw new TypeError(`${at}.stopOnResponse is true or false, not ${describeValue(stopOnResponse)}`);
  }
  if (stopTool !== undefined) needText(stopTool, `${at}.stopTool`);
  if (stopToolResponseProperty !== undefined) needText(stopToolResponseProperty, `${at}.stopToolResponseProperty`);
  return {
    prompt,
    stopOnResponse,
    stopTool,
    stopToolResponseProperty,
    maxTurns: count(side.maxTurns ?? side.maxSteps, `${at}.maxTurns`, 0),
    endConversationTool: sessionTool(side.endConversationTool ?? side.endSessionTool ?? side.sessionStop, at),
    sessionFail: sessionTool(side.failSessionTool ?? side.sessionFail, at),
  };
}

function sessionTool(given: unknown, where: string): Config | undefined {
  if (given === undefined || given === null) return undefined;
  if (typeof given === 'string') return { name: needText(given, `${where}.endConversationTool`) };
  const { name, messageProperty } = needObject(given, `${where}.endConversationTool`);
  return { name: needText(name, `${where}.endConversationTool.name`), messageProperty };
}

function count(value: unknown, where: string, least: number): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value < 2 ** 31) return value;
  throw new TypeError(`${where} is a whole number from ${least} on, not ${describeValue(value)}`);
}

/** Where the definitions stand that belong together. */
let definedIn: 'file' | 'project' = 'file';

/** Gives tools their names: those of the exports of the file that is run, or of the files of a project. */
export function nameTools(exported: Record<string, unknown>, of: typeof definedIn = definedIn): void {
  definedIn = of;
  for (const [name, value] of Object.entries(exported)) {
    if (value instanceof Tool && name !== 'default') tools.set(name, value);
  }
}

/** Of the flows of a file, those that can be run: the agents beside the main one are only handed conversations. */
export function runnable(flows: Flow[]): Flow[] {
  const isAgent = (flow: Flow) => agents.has(flow.kind) && flow.actions.message?.block instanceof AgentBlock;
  const main = flows.find(isAgent);
  return flows.filter((flow) => flow === main || !isAgent(flow));
}

/** A call of an agent hands the conversation over, so a person has to be on its other side. */
function refuseTwoModels(definition: Config, where: string, name: string): void {
  const agent = agents.get(name) as Config;
  const hasPrompt = (key: 'sideA' | 'sideB') => sideOf(agent, key, `Agent "${name}"`).prompt !== undefined;
  if (!hasPrompt('sideA') || !hasPrompt('sideB')) return;
  throw errorAt(
    definition,
    `${where}: agent "${name}" has a prompt on both sides, so it cannot be called: it would take the conversation over and return nothing; leave one side to a person to hand the conversation over, or call a prompt`,
  );
}

/** Everything of the file, checked as a whole: what names what must be there. */
export function definitions(main: string): {
  main: string;
  agents: [string, Config, [Config, Config]][];
  prompts: Prompt[];
  tools: [string, Tool][];
  hooks: { hook: string; execute: Fn }[];
} {
  const has = (name: string) => tools.has(name) || prompts.has(name) || agents.has(name);
  const missing = (definition: Config, where: string, what: string, name: string): never => {
    const names = what === 'prompt' ? [...prompts.keys()] : [...tools.keys(), ...prompts.keys(), ...agents.keys()];
    const meant = nearest(name, names);
    throw errorAt(
      definition,
      `${where}: there is no ${what} "${name}" in this ${definedIn}${meant ? `; did you mean "${meant}"?` : ''}; it has ${names.join(', ') || 'none'}`,
    );
  };
  for (const name of tools.keys()) {
    const prompt = prompts.get(name);
    if (prompt) throw errorAt(prompt.definition, `"${name}" is exported as a tool, and a prompt has this name, too`);
  }
  for (const prompt of prompts.values()) {
    toolsOf(prompt.definition, `Prompt "${prompt.name}"`).forEach((tool, at) => {
      const name = tool.name as string;
      const where = `Prompt "${prompt.name}": tools[${at}]`;
      if (!has(name)) missing(prompt.definition, where, 'tool, prompt or agent', name);
      if (!tools.has(name) && !prompts.has(name)) refuseTwoModels(prompt.definition, where, name);
    });
  }
  for (const { name, definition } of prompts.values()) {
    partsOf(definition.prompt, `Prompt "${name}"`).forEach(({ include }, at) => {
      if (typeof include === 'string' && !prompts.has(include)) {
        missing(definition, `Prompt "${name}": prompt[${at}]`, 'prompt', include);
      }
    });
  }
  const described = [...agents].map(([name, definition]): [string, Config, [Config, Config]] => {
    const where = `Agent "${name}"`;
    const sides: [Config, Config] = [sideOf(definition, 'sideA', where), sideOf(definition, 'sideB', where)];
    sides.forEach((side, at) => {
      const key = at === 0 ? 'sideA' : 'sideB';
      const prompt = side.prompt as string | undefined;
      if (prompt !== undefined && !prompts.has(prompt))
        missing(definition, `${where}: ${key}.prompt`, 'prompt', prompt);
      const ends = [side.stopTool, (side.endConversationTool as Config)?.name, (side.sessionFail as Config)?.name];
      for (const tool of ends) {
        if (typeof tool === 'string' && !has(tool)) missing(definition, `${where}: ${key}`, 'tool', tool);
      }
    });
    return [name, definition, sides];
  });
  return { main, agents: described, prompts: [...prompts.values()], tools: [...tools], hooks };
}

export { isFlow };
