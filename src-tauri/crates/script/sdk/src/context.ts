// `ctx`: what an author's function can reach. Thin: every member asks the engine.

import { offered } from './capabilities';
import { checkEntry, checkJournalQuery, checkMetadata, nameOf } from './ctx-arguments';
import { costEstimate } from './describe';
import { emitters } from './emit';
import { decodeError, reviveError } from './thrown';
import { ask, native } from './host';
import { runOnce } from './once';
import { resourcesFor } from './resource-handles';
import { forgetViews, handle } from './state';
import { toJson } from './values';
import { suspend } from './suspend';
import { requestSignal } from './web';

type Json = Record<string, unknown>;

/** A block that a handle stands for. */
interface Facts {
  name: string;
  kind: string;
  instanceId: string;
  input: unknown;
}

interface Info {
  requestId: string;
  flow: string;
  action: string;
  startedAt: number;
  session: string;
  user: string;
  project?: string;
  path: string;
  instance: string;
  block: string;
  attempt: number;
  parent?: Facts;
  self?: Facts;
  sequencer?: Facts;
  has: string[];
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

const OPERATIONS = ['patchState', 'setState', 'incState', 'pushState', 'setStateRecord', 'deleteStateRecord', 'atomicState'];

/** What `getTarget` gives; a block without state of its own refuses every operation. */
function targetHandle(token: number, found: Found): object {
  const facts = { name: found.name, instanceId: found.instanceId, input: found.input };
  if (found.hasState) return handle(token, `target:${found.instance}`, `target "${found.name}"`, facts);
  const refuse = () =>
    Promise.reject(new Error(`Target "${found.name}" does not expose instance state operations.`));
  return { ...facts, state: {}, ...Object.fromEntries(OPERATIONS.map((operation) => [operation, refuse])) };
}

function sessionExtras(token: number, info: () => Info): object {
  const items = (view: string, query: unknown) => JSON.parse(native.sync('items', token, JSON.stringify([view, query ?? {}])) ?? '[]') as unknown[];
  // A plain list: seed 003 reads it without `await`, and awaiting it works too.
  const history = (query?: unknown) => items('history', query);
  return {
    get identity() {
      const { session, user, project } = info();
      return { type: 'session', id: session, userId: user, projectId: project, orgId: project };
    },
    items: {
      all: (query?: unknown) => items('all', query),
      client: (query?: unknown) => items('client', query),
      history,
      llm: history,
      selectForContext: (query?: unknown) => items('all', query),
    },
    appendJournal: async (entry: Json): Promise<unknown> => {
      checkEntry(entry);
      const { text, source, tags, metadata } = entry;
      const json = toJson({ text, source, tags, metadata }, 'ctx.session.appendJournal') as string;
      return JSON.parse(native.sync('journal.append', token, json) as string) as unknown;
    },
    getJournal: async (query: Json = {}): Promise<unknown> => {
      checkJournalQuery(query);
      return JSON.parse(native.sync('journal.read', token, JSON.stringify(query)) ?? '[]') as unknown;
    },
    get metadata() {
      return JSON.parse(native.sync('metadata.read', token, '') as string) as Json;
    },
    setMetadata: async (metadata: Json): Promise<void> => {
      checkMetadata(metadata);
      native.sync('metadata', token, toJson(metadata, 'ctx.session.setMetadata') as string);
    },
  };
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
    const asked = JSON.parse(toJson({ ...options, model: modelId }, 'ctx.resolveModel().generate') as string) as Json;
    return JSON.parse(await ask(token, 'model', asked)) as unknown;
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

const contexts = new Map<number, object>();

export function forget(token: number): void {
  contexts.delete(token);
  forgetViews(token);
}

export function contextFor(token: number): object {
  let ctx = contexts.get(token);
  if (!ctx) {
    ctx = makeContext(token);
    contexts.set(token, ctx);
  }
  return ctx;
}

function makeContext(token: number): object {
  let known: Info | undefined;
  const info = (): Info => (known ??= JSON.parse(native.sync('info', token, '') as string) as Info);
  const identity = (type: string, id: (i: Info) => string | undefined) => ({
    get identity() {
      const facts = info();
      return { type, id: id(facts), userId: facts.user, projectId: facts.project, orgId: facts.project };
    },
  });
  const withResources = (scope: string, extra: object) =>
    Object.defineProperty(extra, 'resources', { enumerable: true, get: () => resourcesFor(token, scope) });
  const project = () =>
    info().project === undefined
      ? undefined
      : handle(token, 'project', 'ctx.project', withResources('project', identity('project', (i) => i.project)));
  const shared = (target: string, label: string, extra: object = {}) =>
    info().has.includes(target) ? handle(token, target, label, extra) : undefined;
  const emit = emitters(token);
  const named = (method: string, block: unknown) => JSON.stringify(nameOf(method, block));
  const getTarget = (name: unknown) => {
    const answer = native.sync('target', token, named('getTarget', name));
    if (answer === undefined) return undefined;
    const found = JSON.parse(answer) as Found & { error?: never };
    if (found.error) throw reviveError(found.error);
    return targetHandle(token, found);
  };
  const lazy: Record<string, () => unknown> = {
    request: () => handle(token, 'request', 'ctx.request', requestExtras(token, identity('request', (i) => i.requestId))),
    session: () => handle(token, 'session', 'ctx.session', withResources('session', sessionExtras(token, info))),
    user: () => handle(token, 'user', 'ctx.user', withResources('user', identity('user', (i) => i.user))),
    project,
    org: project,
    sequencer: () => shared('sequencer', 'ctx.sequencer', info().sequencer),
    self: () => shared('self', 'ctx.self', info().self),
    parent: () => (info().parent ? (shared('parent', 'ctx.parent', info().parent) ?? info().parent) : undefined),
    resources: () => resourcesFor(token),
    response: () => responseOf(token),
    cap: () => offered(info().uses, () => contextFor(token)),
    emit: () => emit,
    emitMessage: () => emit.message,
    emitComponent: () => emit.component,
    emitStatus: () => emit.status,
    targets: () => new Proxy({}, { get: (_target, name) => (typeof name === 'string' ? getTarget(name) : undefined) }),
    getTarget: () => getTarget,
    getBlockOutput: () => (block: unknown) => {
      const answer = native.sync('blockOutput', token, named('getBlockOutput', block));
      return answer === undefined ? undefined : (JSON.parse(answer) as unknown);
    },
    getBlockResult: () => (block: unknown) => {
      const result = JSON.parse(native.sync('blockResult', token, named('getBlockResult', block)) as string) as { error?: never };
      return result.error ? { ...result, error: reviveError(result.error) } : result;
    },
    wasRescued: () => (block: unknown) => native.sync('wasRescued', token, named('wasRescued', block)) === 'true',
    resolveModel: () => Object.assign((modelId: string) => resolvedModel(token, modelId), { resolveId: (modelId: string) => modelId }),
    runOnce: () => (key: unknown, fn: unknown) => runOnce(token, key, fn),
    suspend: () => (options: unknown) => suspend(token, options),
    signal: () => requestSignal,
    attempt: () => info().attempt,
    idempotencyKey: () => `${info().requestId}:${info().path}`,
    requestRuntime: () => runtimeOf(info()),
    // Settings belong to a host, and this one has none to give.
    settings: () => Object.freeze({}),
    // Every event is one already: a resume finds what any block that ended left.
    saveCheckpoint: () => () => Promise.resolve(),
  };
  const ctx = {};
  const made = new Map<string, unknown>();
  for (const [name, make] of Object.entries(lazy)) {
    Object.defineProperty(ctx, name, {
      enumerable: true,
      get() {
        if (!made.has(name)) made.set(name, make());
        return made.get(name);
      },
    });
  }
  return ctx;
}

export { decodeError };
