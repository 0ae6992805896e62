// The builders of agents whose model answers with Calls: they check and keep what a file registers.
//
// Must not: run anything, or decide what a Call may see; Rust does both (SEMANTICS §17).

import { describeValue, needFunction, type Fn } from '../base/arguments';
import { describe, isWholeTold } from '../base/json-schema';
import { isSchema, shapeOf } from '../base/schema';
import { Block, type Config } from './blocks';
import { nearest, warn } from './known-keys';
import { unknownWords } from './schema-words';

const tools = new Map<string, Config>();
const activities = new Map<string, Fn>();
const delegates = new Map<string, { context: unknown[]; schema: unknown }>();
let isLoaded = false;

/** The block of an agent: what it can name is read when the file is described, so the order in the file is free. */
export class CallAgentBlock extends Block {
  constructor(readonly definition: Config) {
    super('sequencer', { name: definition.name });
  }
}

/** Everything that the file registered. */
export function registered() {
  return { tools, activities, delegates };
}

/** Whether the file has anything of Calls. */
export function hasCalls(): boolean {
  return tools.size + activities.size + delegates.size > 0;
}

/** What is registered later is in no description of the flow, so nothing could run it. */
export function endRegistration(): void {
  isLoaded = true;
}

function needName(name: unknown, where: string): string {
  if (typeof name !== 'string' || name.trim() === '') {
    throw new TypeError(`${where} needs a name, got ${describeValue(name)}`);
  }
  if (name === '__proto__') throw new TypeError(`${where}: "__proto__" is no name`);
  return name;
}

function needObject(value: unknown, where: string): Config {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Config;
  throw new TypeError(`${where} needs an object, got ${describeValue(value)}`);
}

/** A JSON Schema, also from a zod schema. A copy: what the author does with it later changes nothing. */
function jsonSchema(schema: unknown, where: string): unknown {
  if (schema === undefined || schema === null) return undefined;
  if (isSchema(schema)) return describe(schema);
  return JSON.parse(JSON.stringify(needObject(schema, where))) as unknown;
}

/** Of two with one name the last counts. */
function keep<T>(into: Map<string, T>, name: string, value: T, what: string): void {
  if (isLoaded) {
    throw new TypeError(
      `${what}.register("${name}") comes too late; register at the top of the file, not while it runs`,
    );
  }
  if (into.delete(name)) warn(`${what} "${name}" is registered twice; the last one counts`);
  into.set(name, value);
}

export const Tool = Object.freeze({
  /** `Tool.register(name, schema)`. */
  register(name: unknown, schema: unknown): void {
    const own = needName(name, 'Tool.register');
    const kept = jsonSchema(schema ?? {}, `Tool.register("${own}"): the schema`) as Config;
    const scopes = isSchema(schema) ? shapeOf(schema)?._scopes : undefined;
    if (scopes && !isWholeTold(scopes)) {
      throw new TypeError(
        `Tool "${own}": _scopes has a check that JSON Schema has no word for, so nothing would check it`,
      );
    }
    const properties = needObject(kept.properties ?? {}, `Tool.register("${own}"): properties`);
    for (const key of [...Object.keys(properties), ...Object.keys(kept)]) {
      if (!key.startsWith('_') || RESERVED.includes(key) || key === '_reasoningForCall') continue;
      const meant = nearest(key, RESERVED);
      warn(`Tool "${own}": "${key}" is no reserved property${meant ? `; did you mean "${meant}"?` : ''}`);
    }
    unknownWords(kept, (place, message) => {
      const where = `Tool "${own}"${place.length > 0 ? `: ${place.join('.')}` : ''}: ${message}`;
      // An allow-list that allows everything is no mistake to go on with.
      if (place[0] === '_scopes' || (place[0] === 'properties' && place[1] === '_scopes')) throw new TypeError(where);
      warn(where);
    });
    keep(tools, own, kept, 'Tool');
  },
});

export const Activity = Object.freeze({
  /** `Activity.register(name, async (call, scoped) => value)`. */
  register(name: unknown, execute: unknown): void {
    const own = needName(name, 'Activity.register');
    const fn = needFunction(execute, `Activity.register("${own}"): the function (call, scoped) => …`);
    keep(activities, own, fn, 'Activity');
  },
});

export const Delegate = Object.freeze({
  /** `Delegate.register(name, { context, schema })`. */
  register(name: unknown, definition: unknown): void {
    const own = needName(name, 'Delegate.register');
    const where = `Delegate.register("${own}")`;
    const { context, schema } = needObject(definition, where);
    if (context !== undefined && !Array.isArray(context)) {
      throw new TypeError(`${where}: context is a list of messages, got ${describeValue(context)}`);
    }
    const messages = JSON.parse(JSON.stringify(context ?? [])) as unknown[];
    keep(delegates, own, { context: messages, schema: jsonSchema(schema, `${where}: schema`) }, 'Delegate');
  },
});

/** The properties of a tool that are no parameters. */
const RESERVED = [
  ...['_tool', '_scopes', '_outputPath', '_outputMethod', '_activity', '_delegate', '_instance', '_output'],
];

const KNOWN = ['name', 'model', 'schema', 'context', 'confirm', 'maxTicks', 'maxDepth', 'description'];

function count(value: unknown, where: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value < 2 ** 31) return value;
  throw new TypeError(`${where} is a whole number from 1 on, not ${describeValue(value)}`);
}

/** `Agent({ name, model, schema, context, confirm? })`: a block. */
export function Agent(definition: unknown): CallAgentBlock {
  const given = needObject(definition, 'Agent');
  const name = needName(given.name, 'Agent: name');
  const where = `Agent "${name}"`;
  for (const key of Object.keys(given)) {
    if (KNOWN.includes(key) || given[key] === undefined) continue;
    const meant = nearest(key, KNOWN);
    warn(`${where}: "${key}" is no setting and changes nothing${meant ? `; did you mean "${meant}"?` : ''}`);
  }
  const models = Array.isArray(given.model) ? (given.model as unknown[]) : [given.model];
  models.forEach((model) => needName(model, `${where}: model`));
  const { context = [], confirm } = given;
  if (typeof context !== 'function' && !Array.isArray(context)) {
    throw new TypeError(`${where}: context is a list of messages, or a function of the input that makes one`);
  }
  if (confirm !== undefined && confirm !== null && typeof confirm !== 'function' && typeof confirm !== 'boolean') {
    throw new TypeError(`${where}: confirm is a function of a call, or true, got ${describeValue(confirm)}`);
  }
  return new CallAgentBlock({
    name,
    models,
    schema: jsonSchema(given.schema, `${where}: schema`),
    context: typeof context === 'function' ? context : (JSON.parse(JSON.stringify(context)) as unknown),
    confirm: confirm ?? undefined,
    maxTicks: count(given.maxTicks, `${where}: maxTicks`),
    maxDepth: count(given.maxDepth, `${where}: maxDepth`),
  });
}
