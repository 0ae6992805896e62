// `flow`: the live `FlowState` that tools and hooks of an agent get, and the functions that act on it.
//
// A field is fetched when it is first looked at. What an author's code changed of it is written back before anything
// that may depend on it is asked, and when the call ends. Must not: know what a field means; the engine does.

import { describeValue } from '../base/arguments';
import { askJson, currentToken, native, wire } from '../base/host';
import { toJson } from '../base/values';
import { warnOfLoss } from './json-loss';
import { insteadOf } from './newer-names';
import { isReadOnly, readOnly } from './read-only';
import { ThreadStorage } from './thread-storage';

type Json = Record<string, unknown>;
type Which = 'own' | 'root';

/** The fields that an author may change, by assigning them or in place. */
const WRITABLE = ['currentSide', 'turnCount', 'stopped', 'stoppedBy', 'messageHistory', 'sequence', 'context'];
const FIXED = ['threadId', 'flowId', 'thread', 'agentConfig', 'env', 'isChildPrompt'];

/** What to do instead of writing into a field that is fixed. */
const READ_ONLY: Record<string, string> = {
  thread: 'keep values of your own with flow.storage.put(key, value)',
  agentConfig: 'change the definition of the agent, or keep values of your own in flow.context',
  env: 'change "env" in flowglass.json, or keep values of your own in flow.context',
};

/** A field as it was fetched, and the value that an author holds of it. */
interface Known {
  text: string | undefined;
  value: unknown;
}

/** What stands behind a `FlowState`. */
class Call {
  readonly known = new Map<string, Known>();
  /** What was asked for and has not been answered: the call waits for it. */
  readonly pending: Promise<unknown>[] = [];
  root: FlowState | undefined;

  constructor(
    readonly token: number,
    readonly which: Which,
  ) {}

  fetch(field: string): string | undefined {
    return native.sync('flow.read', this.token, JSON.stringify([this.which, field]));
  }

  read(field: string): unknown {
    const known = this.known.get(field);
    if (known) return known.value;
    const text = this.fetch(field);
    const value: unknown = text === undefined ? undefined : JSON.parse(text);
    if (field === 'thread') nameWhatIsMissing((value as { instance: object }).instance);
    this.known.set(field, { text, value });
    return value;
  }

  /** What an author's code gets of a field. */
  seen(field: string): unknown {
    return WRITABLE.includes(field) ? this.read(field) : readOnly(this.read(field), `flow.${field}`, READ_ONLY[field]);
  }

  write(field: string, value: unknown): void {
    this.read(field);
    (this.known.get(field) as Known).value = value;
  }

  /** Writes back what was changed. */
  flush(): void {
    const fields: string[] = [];
    for (const [field, known] of this.known) {
      if (!WRITABLE.includes(field)) continue;
      const text = known.value === undefined ? undefined : toJson(known.value, `flow.${field}`);
      if (text === known.text) continue;
      if (field === 'context') warnOfLoss(this.token, 'flow.context', known.value);
      fields.push(`${JSON.stringify(field)}:${text ?? 'null'}`);
      known.text = text;
    }
    if (fields.length > 0) native.sync('flow.write', this.token, `["${this.which}",{${fields.join(',')}}]`);
    const root = this.root && calls.get(this.root);
    root?.flush();
  }

  /** Brings what an author holds up to date, in the objects that he holds. */
  refresh(): void {
    for (const [field, known] of this.known) {
      const text = this.fetch(field);
      if (text === known.text) continue;
      known.text = text;
      known.value = renewed(known.value, text === undefined ? undefined : JSON.parse(text));
    }
    const root = this.root && calls.get(this.root);
    root?.refresh();
  }

  /** Does something of the engine's with everything written before, and everything seen after. */
  now(op: string, payload: unknown): string | undefined {
    this.flush();
    const answer = native.sync(op, this.token, wire(payload));
    this.refresh();
    return answer;
  }

  /** The same with something that takes time. */
  later(op: string, payload: unknown): Promise<string> {
    this.flush();
    const asked = askJson(this.token, op, wire(payload)).then((answer) => {
      this.refresh();
      return answer;
    });
    this.pending.push(asked.catch(() => undefined));
    return asked;
  }
}

/** A value with the content of another, in place where both are lists or both objects. */
function renewed(old: unknown, next: unknown): unknown {
  if (isReadOnly(old)) return next;
  if (Array.isArray(old) && Array.isArray(next)) {
    old.length = 0;
    // One by one: a call takes at most 65,535 arguments.
    for (const one of next as unknown[]) old.push(one);
    return old;
  }
  const areObjects = [old, next].every((one) => typeof one === 'object' && one !== null && !Array.isArray(one));
  if (!areObjects) return next;
  const [kept, fresh] = [old as Json, next as Json];
  for (const key of Object.keys(kept)) if (!(key in fresh)) delete kept[key];
  for (const key of Object.keys(fresh)) kept[key] = renewed(kept[key], fresh[key]);
  return kept;
}

/** The object of a thread elsewhere has methods; here it has an id, and tells what would take their place. */
function nameWhatIsMissing(instance: object): void {
  const missing: ProxyHandler<object> = {
    get(target, name, receiver): unknown {
      if (typeof name === 'symbol' || name in target || ['then', 'toJSON'].includes(name)) {
        return Reflect.get(target, name, receiver);
      }
      throw new TypeError(
        `flow.thread.instance.${name} is not available here: it has an id; use getMessages, injectMessage, queueTool or flow.storage`,
      );
    },
  };
  Object.setPrototypeOf(instance, new Proxy(Object.prototype, missing));
}

type FlowState = object;

/** Names of newer versions that mean the same here. */
const SAME: Record<string, (flow: FlowState) => unknown> = {
  stepCount: (flow) => (flow as Json).turnCount,
  agentId: (flow) => metadataOf(flow).agent_id,
  userId: (flow) => metadataOf(flow).user_id,
  createdAt: (flow) => metadataOf(flow).created_at,
  execution: executionOf,
  queueTool: (flow) => (name: unknown, args?: unknown) => queueTool(flow, name, args),
  injectMessage: (flow) => (message: unknown) => injectMessage(flow, message),
  queueMessage: (flow) => (message: unknown) => queueMessage(flow, message),
  reloadHistory: (flow) => () => reloadHistory(flow),
  emit: (flow) => (type: unknown, data?: unknown) => emitThreadEvent(flow, type, data),
  getValue: (flow) => async (key: unknown) => (await storageOf(flow).get(key)) ?? null,
  setValue: (flow) => (key: unknown, value: unknown) =>
    value === undefined || value === null ? storageOf(flow).delete(key) : storageOf(flow).put(key, value),
};

const metadataOf = (flow: FlowState) => (flow as { thread: { metadata: Json } }).thread.metadata;
const storageOf = (flow: FlowState) => (flow as { storage: ThreadStorage }).storage;

/** The fields of an execution, as newer versions keep them apart. */
function executionOf(flow: FlowState): object {
  const own = flow as Json;
  const fields: PropertyDescriptorMap = { stepCount: { enumerable: true, get: () => own.turnCount } };
  for (const name of ['flowId', 'currentSide', 'stopped', 'stoppedBy', 'messageHistory']) {
    fields[name] = { enumerable: true, get: () => own[name], set: (value: unknown) => (own[name] = value) };
  }
  const act = {
    forceTurn: (side: unknown) => forceTurn(flow, side),
    stop: () => (own.stopped = true),
  };
  return Object.defineProperties(act, fields);
}

/** Reached by what the `FlowState` does not have. */
const OTHER_FIELDS = new Proxy(Object.prototype, {
  get(target, name, receiver): unknown {
    if (typeof name !== 'string') return Reflect.get(target, name, receiver);
    if (Object.hasOwn(SAME, name)) return SAME[name]?.(receiver as FlowState);
    const instead = insteadOf(name);
    if (instead === undefined) return Reflect.get(target, name, receiver);
    throw new TypeError(`flow.${name} is not there; ${instead}`);
  },
  set(_target, name): boolean {
    throw new TypeError(`flow.${String(name)} is no field of the FlowState; keep values of your own in flow.context`);
  },
});

const calls = new WeakMap<FlowState, Call>();

/** What tools and hooks get as their first argument. */
function flowState(call: Call): FlowState {
  const fields: PropertyDescriptorMap = {};
  for (const field of [...FIXED.slice(0, 4), ...WRITABLE]) fields[field] = accessor(call, field);
  for (const field of ['env', 'isChildPrompt']) fields[field] = accessor(call, field);
  const storage = new ThreadStorage(call.token, (): Json => JSON.parse(call.fetch('storage') ?? '{}') as Json);
  fields.storage = { enumerable: true, get: () => storage, set: () => refuse('storage') };
  fields.rootState = { enumerable: true, get: () => rootOf(call), set: () => refuse('rootState') };
  const made = Object.defineProperties(Object.create(OTHER_FIELDS) as object, fields);
  calls.set(made, call);
  return made;
}

function accessor(call: Call, field: string): PropertyDescriptor {
  const set = WRITABLE.includes(field) ? (value: unknown) => call.write(field, value) : () => refuse(field);
  return { enumerable: true, get: () => call.seen(field), set };
}

function refuse(field: string): never {
  const hint = field === 'storage' ? '; use await flow.storage.put(key, value)' : '';
  throw new TypeError(`flow.${field} cannot be written${hint}`);
}

/** That of the execution, inside a sub-prompt. */
function rootOf(call: Call): FlowState | undefined {
  if (call.which === 'root' || call.read('isChildPrompt') !== true) return undefined;
  return (call.root ??= flowState(new Call(call.token, 'root')));
}

/** A function of the engine's that calls an author's with the `FlowState` first. */
export function withFlow(execute: (...args: never[]) => unknown, onThrown?: (error: unknown) => unknown) {
  return (...given: unknown[]): unknown => {
    const call = new Call(currentToken(), 'own');
    const flow = flowState(call);
    // The engine's own `ctx` comes last; agents have none.
    const args = given.slice(0, -1);
    const failed = (error: unknown): unknown => {
      try {
        call.flush();
      } catch {
        // What was thrown first is what there is to say.
      }
      if (onThrown) return onThrown(error);
      throw error;
    };
    const ended = (value: unknown): unknown => {
      const done = (): unknown => {
        call.flush();
        return value;
      };
      return call.pending.length > 0 ? Promise.all(call.pending).then(done) : done();
    };
    let value: unknown;
    try {
      value = (execute as (...args: unknown[]) => unknown)(flow, ...args);
      if (!(value instanceof Promise)) return ended(value);
    } catch (error) {
      return failed(error);
    }
    return value.then(ended).catch(failed);
  };
}

function callOf(flow: unknown, what: string): Call {
  const call = typeof flow === 'object' && flow !== null ? calls.get(flow) : undefined;
  if (call) return call;
  throw new TypeError(`${what}: the first argument is the flow that a tool or a hook gets, not ${describeValue(flow)}`);
}

/** Puts a call behind those that wait. */
export function queueTool(flow: unknown, name: unknown, args: unknown = {}): void {
  const call = callOf(flow, 'queueTool');
  if (typeof name !== 'string' || name === '') {
    throw new TypeError(`queueTool: the name of a tool is a text, not ${describeValue(name)}`);
  }
  call.now('flow.queueTool', [call.which, name, JSON.parse(toJson(args ?? {}, 'queueTool: the arguments') as string)]);
}

/** Refuses what would be lost of a message. */
function refuseOthers(what: string, message: unknown, known: readonly string[]): void {
  for (const [field, value] of Object.entries(message as Json)) {
    if (known.includes(field) || value === undefined || value === null) continue;
    const why = field === 'attachments' ? 'messages have texts only' : `it takes ${known.join(', ')}`;
    throw new TypeError(`${what}: "${field}" is not there: ${why}`);
  }
}

const INJECTED = [
  ...['content', 'role', 'id', 'beforeMessageId', 'toolCallId', 'name', 'silent', 'metadata'],
  ...['forceTopLevel', 'forceTurn'],
];
const QUEUED = ['content', 'role', 'silent'];

/** Stores a message without a turn. */
export async function injectMessage(flow: unknown, message: unknown): Promise<unknown> {
  const call = callOf(flow, 'injectMessage');
  const { content, role } = (message ?? {}) as Json;
  if (typeof content !== 'string' || typeof role !== 'string') {
    throw new TypeError(`injectMessage needs { content, role } with two texts, got ${describeValue(message)}`);
  }
  refuseOthers('injectMessage', message, INJECTED);
  return JSON.parse(await call.later('flow.injectMessage', [call.which, message])) as unknown;
}

/** Stores a message before the next turn, and lets it decide who speaks. */
export function queueMessage(flow: unknown, message: unknown): string {
  const call = callOf(flow, 'queueMessage');
  const { content, role = 'user', silent = false } = (message ?? {}) as Json;
  if (typeof content !== 'string' || (role !== 'user' && role !== 'assistant')) {
    throw new TypeError(
      `queueMessage needs { content, role } with a text and "user" or "assistant", got ${describeValue(message)}`,
    );
  }
  refuseOthers('queueMessage', message, QUEUED);
  return call.now('flow.queueMessage', [role, content, silent === true]) as string;
}

/** A part of the thread's messages. */
export function getMessages(
  flow: unknown,
  limit: unknown = 100,
  offset: unknown = 0,
  order: unknown = 'asc',
): Promise<unknown> {
  const call = callOf(flow, 'getMessages');
  const number = (value: unknown, what: string) => {
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
    throw new TypeError(`getMessages: ${what} is a whole number from 0 on, not ${describeValue(value)}`);
  };
  if (typeof order !== 'string' || !['asc', 'desc'].includes(order.toLowerCase())) {
    throw new TypeError(`getMessages: order is "asc" or "desc", not ${describeValue(order)}`);
  }
  const asked = [number(limit, 'limit'), number(offset, 'offset'), order.toLowerCase() === 'desc'];
  return Promise.resolve(JSON.parse(call.now('flow.messages', asked) as string) as unknown);
}

/** Makes `messageHistory` the stored conversation again, and returns it. */
export function reloadHistory(flow: unknown): Promise<unknown> {
  const call = callOf(flow, 'reloadHistory');
  call.now('flow.reloadHistory', [call.which]);
  return Promise.resolve(call.read('messageHistory'));
}

/** Leaves an item for whoever watches the thread. */
export function emitThreadEvent(flow: unknown, type: unknown, data?: unknown): void {
  const call = callOf(flow, 'emitThreadEvent');
  if (typeof type !== 'string' || type === '') {
    throw new TypeError(`emitThreadEvent: the type of an event is a text, not ${describeValue(type)}`);
  }
  call.now('flow.event', [type, JSON.parse(toJson(data ?? null, 'emitThreadEvent: the data') as string)]);
}

/** Says who speaks when this turn has ended. */
export function forceTurn(flow: unknown, side: unknown): void {
  const call = callOf(flow, 'forceTurn');
  if (side !== 'side_a' && side !== 'side_b' && side !== 'a' && side !== 'b') {
    throw new TypeError(`forceTurn: the side is "side_a" or "side_b", not ${describeValue(side)}`);
  }
  call.now('flow.forceTurn', [side]);
}
