// `ctx`: what an author's function can reach. Thin: every member asks the engine.

import { DISPATCH_SEAM } from '../define/addresses';
import { offered } from '../define/capabilities';
import { nameOf } from './ctx-arguments';
import { costEstimate } from '../define/budgets';
import { flowFacts } from '../define/flow-config';
import { takesMessages } from '../define/relay';
import { emitters } from './emit';
import { decodeError, reviveError } from '../base/thrown';
import { askJson, native } from '../base/host';
import { runOnce } from './once';
import { requestHost } from './relay';
import { resourcesFor } from './resource-handles';
import { seamOf } from './sending';
import { sessionMembers } from './session-members';
import { Relative, StatefulRelative, type Relation } from './relatives';
import { TOKEN } from '../define/running';
import { handle } from './state';
import { toJson } from '../base/values';
import { suspend } from '../define/suspend';
import { signalAt } from '../globals/step-signals';

type Json = Record<string, unknown>;

/** A block that a handle stands for. */
interface Info {
  requestId: string;
  flow: string;
  action: string;
  startedAt: number;
  session: string;
  /** Whether the session was made for the one request. */
  ephemeral: boolean;
  user: string;
  /** What their records are called, as the flow kept them when the request began. */
  userRecord: string;
  project?: string;
  projectRecord?: string;
  path: string;
  instance: string;
  block: string;
  attempt: number;
  /** The capabilities of the blocks around, outermost first. */
  uses: number[];
}

interface Found {
  name: string;
  instance: string;
  instanceId: string;
  input: unknown;
  hasState: boolean;
}

const OPERATIONS = [
  'patchState',
  'setState',
  'incState',
  'pushState',
  'setStateRecord',
  'deleteStateRecord',
  'atomicState',
];

/** What `getTarget` gives; a block without state of its own refuses every operation. */
function targetHandle(token: number, found: Found): object {
  const facts = { name: found.name, instanceId: found.instanceId, input: found.input };
  if (found.hasState) return handle(token, `target:${found.instance}`, `target "${found.name}"`, facts);
  const refuse = () => Promise.reject(new Error(`Target "${found.name}" does not expose instance state operations.`));
  return { ...facts, state: {}, ...Object.fromEntries(OPERATIONS.map((operation) => [operation, refuse])) };
}

/** What the request's models used; without a budget there is always more. */
function requestExtras(token: number, identity: object): object {
  const usage = () => JSON.parse(native.sync('usage', token, '') as string) as Json & { remaining: number | null };
  const extras = {
    get tokenUsage() {
      const told = usage();
      // As JSON, "no limit" is null.
      return Object.defineProperty({ ...told, remaining: told.remaining ?? Infinity }, 'toJSON', { value: () => told });
    },
    get costEstimate() {
      return costEstimate(usage().byModel as Record<string, Json>);
    },
  };
  return Object.defineProperties(extras, Object.getOwnPropertyDescriptors(identity));
}

/** A model by its name, for a handler that asks one itself. The call is recorded like a generator's. */
function resolvedModel(token: number, modelId: string): object {
  const generate = async (options: Json): Promise<unknown> => {
    const asked = toJson({ ...options, model: modelId }, 'ctx.resolveModel().generate') as string;
    return JSON.parse(await askJson(token, 'model', asked)) as unknown;
  };
  return { modelId, generate };
}

/** What the request has shown so far. */
function responseOf(token: number): object {
  const getItems = () => JSON.parse(native.sync('items', token, '["request"]') as string) as unknown[];
  return { getItems, getItemCount: () => getItems().length };
}

/** A context belongs to code that runs, so its request is in progress. */
function runtimeOf({ requestId, action, startedAt }: Info): object {
  return Object.freeze({ requestId, actionName: action, status: 'in_progress', startedAtMs: startedAt, metadata: {} });
}

/** The request and the path of a block: the same however often it runs. */
const placeOf = ({ requestId, path }: Info): string => `${requestId}:${path}`;

/** One call's context: whose it is, and what of it was looked at so far. */
class Call {
  // Given in the constructor: fields with values are lowered to slower definitions.
  declare readonly token: number;
  /** Members that were looked at, and what was added. */
  declare readonly made: Json;
  declare private known: Info | undefined;

  constructor(token: number) {
    this.token = token;
    this.made = Object.create(null) as Json;
    this.known = undefined;
  }

  get info(): Info {
    return (this.known ??= JSON.parse(native.sync('info', this.token, '') as string) as Info);
  }

  sync(op: string, payload: string): string | undefined {
    return native.sync(op, this.token, payload);
  }
}

function identity(call: Call, type: string, id: (info: Info) => string | undefined): object {
  return {
    get identity() {
      const { info } = call;
      return { type, id: id(info), userId: info.user, projectId: info.project, orgId: info.project };
    },
  };
}

const withResources = (call: Call, scope: string, extra: object) =>
  Object.defineProperty(extra, 'resources', { enumerable: true, get: () => resourcesFor(call.token, scope) });

/** A block around this one, or this one: with its state and operations, where it has one. */
function relative(call: Call, name: Relation): object | undefined {
  const kind = native.sync('relative.kind', call.token, name);
  if (kind === undefined) return undefined;
  return kind === 'stateful' ? new StatefulRelative(call.token, name) : new Relative(call.token, name);
}

function project(call: Call): unknown {
  if (call.info.project === undefined) return undefined;
  return handle(
    call.token,
    'project',
    'ctx.project',
    withResources(
      call,
      'project',
      identity(call, 'project', (info) => info.projectRecord),
    ),
  );
}

const named = (method: string, block: unknown) => JSON.stringify(nameOf(method, block));

function target(call: Call, name: unknown): unknown {
  const answer = call.sync('target', named('getTarget', name));
  if (answer === undefined) return undefined;
  const found = JSON.parse(answer) as Found & { error?: never };
  if (found.error) throw reviveError(found.error);
  return targetHandle(call.token, found);
}

/** Every member of `ctx`, made when it is first looked at: most calls look at one or two. */
const MEMBERS: Record<string, (call: Call) => unknown> = Object.assign(Object.create(null) as object, {
  request: (call) =>
    handle(
      call.token,
      'request',
      'ctx.request',
      requestExtras(
        call.token,
        identity(call, 'request', (info) => info.requestId),
      ),
    ),
  session: (call) =>
    handle(
      call.token,
      'session',
      'ctx.session',
      withResources(
        call,
        'session',
        sessionMembers(call.token, () => call.info),
      ),
    ),
  user: (call) =>
    handle(
      call.token,
      'user',
      'ctx.user',
      withResources(
        call,
        'user',
        identity(call, 'user', (info) => info.userRecord),
      ),
    ),
  project,
  org: project,
  sequencer: (call) => relative(call, 'sequencer'),
  self: (call) => relative(call, 'self'),
  parent: (call) => relative(call, 'parent'),
  resources: (call) => resourcesFor(call.token),
  response: (call) => responseOf(call.token),
  cap: (call) => offered(call.info.uses, () => new Proxy(call, CONTEXT)),
  emit: (call) => emitters(call.token),
  emitMessage: (call) => (read(call, 'emit') as ReturnType<typeof emitters>).message,
  emitComponent: (call) => (read(call, 'emit') as ReturnType<typeof emitters>).component,
  emitStatus: (call) => (read(call, 'emit') as ReturnType<typeof emitters>).status,
  targets: (call) =>
    new Proxy({}, { get: (_target, name) => (typeof name === 'string' ? target(call, name) : undefined) }),
  getTarget: (call) => (name: unknown) => target(call, name),
  getBlockOutput: (call) => (block: unknown) => {
    const answer = call.sync('blockOutput', named('getBlockOutput', block));
    return answer === undefined ? undefined : (JSON.parse(answer) as unknown);
  },
  getBlockResult: (call) => (block: unknown) => {
    const result = JSON.parse(call.sync('blockResult', named('getBlockResult', block)) as string) as { error?: never };
    return result.error ? { ...result, error: reviveError(result.error) } : result;
  },
  wasRescued: (call) => (block: unknown) => call.sync('wasRescued', named('wasRescued', block)) === 'true',
  resolveModel: (call) =>
    Object.assign((modelId: string) => resolvedModel(call.token, modelId), { resolveId: (modelId: string) => modelId }),
  runOnce: (call) => (key: unknown, fn: unknown) => runOnce(call.token, key, fn),
  suspend: (call) => (options: unknown) => suspend(call.token, options),
  flow: () => flowFacts(),
  signal: (call) => signalAt(() => call.info.path),
  attempt: (call) => call.info.attempt,
  idempotencyKey: (call) => placeOf(call.info),
  requestRuntime: (call) => runtimeOf(call.info),
  requestHost: (call) => (takesMessages() ? requestHost(call.token, () => call.info) : undefined),
  // Settings belong to a host, and this one has none to give.
  settings: () => Object.freeze({}),
  // Every event is one already: a resume finds what any block that ended left.
  saveCheckpoint: () => () => Promise.resolve(),
} satisfies Record<string, (call: Call) => unknown>);

function read(call: Call, name: string): unknown {
  const { made } = call;
  const known = made[name];
  if (known !== undefined || name in made) return known;
  const make = MEMBERS[name];
  if (!make) return (Object.prototype as Json)[name];
  return (made[name] = make(call));
}

/**
 * A context is made for every call of an author's function, so it costs next to nothing until it is looked
 * at. It spreads, lists and takes additions as an object with the members would.
 */
const CONTEXT: ProxyHandler<Call> = {
  get(call, name) {
    if (typeof name === 'string') return read(call, name);
    if (name === DISPATCH_SEAM) return seamOf(call.token);
    return name === TOKEN ? call.token : undefined;
  },
  has: (call, name) => typeof name === 'string' && (name in MEMBERS || name in call.made || name in Object.prototype),
  set(call, name, value) {
    if (typeof name !== 'string' || name in MEMBERS) return false;
    call.made[name] = value;
    return true;
  },
  deleteProperty: (call, name) => typeof name === 'string' && !(name in MEMBERS) && delete call.made[name],
  defineProperty: () => false,
  ownKeys: (call) => [...new Set([...Object.keys(MEMBERS), ...Object.keys(call.made)])],
  getOwnPropertyDescriptor(call, name) {
    if (typeof name !== 'string' || !(name in MEMBERS || name in call.made)) return undefined;
    return { enumerable: true, configurable: true, get: () => read(call, name) };
  },
  getPrototypeOf: () => Object.prototype,
};

export const makeContext = (token: number): object => new Proxy(new Call(token), CONTEXT);

export { decodeError };
