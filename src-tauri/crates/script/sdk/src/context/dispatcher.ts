// `dispatcher(config)`: a block that starts an entry as a request of its own, and answers where it runs (SEMANTICS §1.8).
//
// Must not: wait for what it starts. It is sent once for each execution of the block: `runOnce` keeps what it came to.

import { describeValue, needFunction } from '../base/arguments';
import type { Address } from '../define/addresses';
import { handler, type Block, type Config } from '../define/blocks';
import { warn } from '../define/known-keys';
import { warnOfDispatcher } from '../define/nested-keys';
import { DispatchRefusedError } from '../base/errors';
import { askJson, currentToken } from '../base/host';
import { toJson } from '../base/values';
import { runOnce } from './once';

interface Outcome {
  sessionId: string;
  requestId: string;
  adopted: boolean;
  refused?: string;
  detail?: string;
}

type Compute = (input: unknown, ctx: unknown) => unknown;

export function dispatcher(config: Config): Block {
  if (typeof config !== 'object' || config === null) {
    throw new TypeError(`dispatcher() needs a configuration object, got ${describeValue(config)}`);
  }
  // A newer spelling says `action` for `target`, and leaves out the type of what is always an internal entry.
  const { name, description, flowKind, session, payload, inputSchema, transient } = config;
  const { target = config.action, type = config.action === undefined ? undefined : 'internal' } = config;
  const where = `dispatcher "${String(name)}"`;
  if (typeof target !== 'string' || target === '') {
    throw new Error(`${where} must name a non-empty target entry, got ${describeValue(target)}`);
  }
  if (type !== 'internal' && type !== 'task') {
    throw new Error(`${where}: type is "internal" or "task", got ${describeValue(type)}`);
  }
  if (flowKind !== undefined && (typeof flowKind !== 'string' || flowKind === '')) {
    throw new Error(`${where}: flowKind must name a flow, got ${describeValue(flowKind)}; leave it out for its own`);
  }
  if (flowKind !== undefined && type === 'task') {
    throw new Error(`${where}: a task stays in the flow of its board; flowKind is for internal entries`);
  }
  warnOfDispatcher(config, where);
  if ((session as Config | undefined)?.link !== undefined) {
    warn(`${where}: "session.link" changes nothing here: sessions have no links; give what it says as payload`);
  }
  if (payload !== undefined) needFunction(payload, `${where}: payload`);
  const computed = sessionOf(session, type, where);
  const address: Address = { type, target, ...(flowKind === undefined ? {} : { flowKind: flowKind as string }) };
  const execute = async (input: unknown, ctx: unknown): Promise<Outcome> => {
    const token = currentToken();
    const place = (ctx as { idempotencyKey: string }).idempotencyKey;
    const to = computed(input, ctx);
    const body = type === 'task' ? taskPayload(input) : payload ? await (payload as Compute)(input, ctx) : input;
    const once = `dispatch ${place}`;
    const spec = toJson({ ...address, session: to, payload: body, from: name, place, once }, `the payload of ${where}`);
    const outcome = (await runOnce(token, once, async () => {
      const told = JSON.parse(await askJson(token, 'dispatch', spec as string)) as Outcome;
      if (told.refused !== undefined)
        throw new DispatchRefusedError(String(name), address, told.refused, told.detail ?? '');
      return told;
    })) as Outcome;
    return { sessionId: outcome.sessionId, requestId: outcome.requestId, adopted: outcome.adopted };
  };
  return handler({ name, description, inputSchema, transient, execute, dispatch: address });
}

/** Which session it runs in, for an input. */
function sessionOf(given: unknown, type: string, where: string): (input: unknown, ctx: unknown) => Config {
  if (type === 'task') return taskSession(given, where);
  const { key, id, from } = (given ?? {}) as Config;
  if (from === true) return () => ({ from: true });
  const [name, compute] = typeof key === 'function' ? ['key', key] : ['id', id];
  if (typeof compute !== 'function') {
    throw new Error(
      `${where}: session is { key: (input) => "…" }, { id: (input) => "…" } or { from: true }, got ${describeValue(given)}`,
    );
  }
  return (input, ctx) => {
    const value = (compute as Compute)(input, ctx);
    if (typeof value !== 'string' || value === '') {
      throw new Error(`${where} computed an empty session ${name as string} (${describeValue(value)})`);
    }
    return { [name as string]: value };
  };
}

function taskSession(given: unknown, where: string): (input: unknown, ctx: unknown) => Config {
  const compute = (given as Config | undefined)?.key;
  if (given !== 'per-task' && given !== 'per-worker' && typeof compute !== 'function') {
    throw new Error(
      `${where}: session is "per-task", "per-worker" or { key: (task) => "…" }, got ${describeValue(given)}`,
    );
  }
  return (input, ctx) => {
    const { boardId, seat, taskId } = envelope(input, where);
    if (given === 'per-task') return { key: `task ${String(boardId)} ${String(taskId)}` };
    if (given === 'per-worker') return { key: `worker ${String(boardId)} ${String(seat)}` };
    const value = (compute as Compute)(taskPayload(input), ctx);
    if (typeof value !== 'string' || value === '') {
      throw new Error(`${where} computed an empty session key for task "${String(taskId)}" (${describeValue(value)})`);
    }
    return { key: value };
  };
}

function envelope(input: unknown, where: string): Config {
  const given = (input ?? {}) as Config;
  if (typeof given.boardId !== 'string' || typeof given.taskId !== 'string' || typeof given.seat !== 'string') {
    throw new TypeError(
      `${where} sends a task of a board: its input is { boardId, seat, taskId, payload }, got ${describeValue(input)}`,
    );
  }
  return given;
}

const taskPayload = (input: unknown): unknown => (input as Config).payload;
