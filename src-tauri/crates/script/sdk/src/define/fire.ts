// What a fired entry asks for: the event that was given goes through the binding's own functions, before there is a
// request (SEMANTICS §1.7).
//
// Must not: wait for anything outside. A mapping is a function of its event.

import { describeValue, type Fn } from '../base/arguments';
import type { Config } from './blocks';
import { checkCron } from './cron';
import { actionOf, addressOf, checkBlock, checkScheduled, entriesOf, type Entry } from './entries';
import { WebHeaders } from '../globals/fetch';
import { Encoder } from '../globals/web';

/** Who fires an entry by hand, and with what. */
export interface Given {
  input?: unknown;
  user?: string;
  session?: string;
  project?: string;
  /** Milliseconds since the epoch. */
  now: number;
}

/** What a fired entry asks for; `ignored` where the entry lets the event pass. */
export interface Fired {
  input?: unknown;
  user?: string;
  session?: string;
  project?: string;
  ignored?: boolean;
}

/** The request that an entry makes of what it was given. */
export async function fire(definition: Config, address: string, given: Given): Promise<Fired> {
  const entry =
    entriesOf(definition).find((one) => addressOf(one) === address) ?? (await resolved(definition, address));
  const { defaultUserId } = (definition.authentication ?? {}) as { defaultUserId?: string };
  const principal = (entry.action.principal ?? {}) as { userId?: string; orgId?: string };
  const who = {
    user: given.user ?? principal.userId ?? defaultUserId ?? 'system',
    project: given.project ?? principal.orgId,
    session: given.session,
  };
  if (entry.type === 'schedule') {
    return { ...who, input: await scheduled(definition, entry, given, who) };
  }
  const event = entry.type === 'webhook' ? delivered(entry.name, given.input) : said(entry.name, given.input);
  const { when, input, sessionId } = entry.action as Record<string, Fn | undefined>;
  if (when && !(when as (event: unknown) => unknown)(event)) return { ...who, ignored: true };
  const mapped = await (input as (event: unknown) => unknown)(event);
  const derived = await (sessionId as ((event: unknown) => unknown) | undefined)?.(event);
  if (derived !== undefined && derived !== null && typeof derived !== 'string') {
    throw new TypeError(`sessionId must give a text or undefined, got ${describeValue(derived)}`);
  }
  const thread = entry.type === 'chat' ? ((event as Config).threadId as unknown) : undefined;
  const session = given.session ?? derived ?? (typeof thread === 'string' ? thread : undefined);
  return { ...who, input: mapped, session };
}

/**
 * A schedule that the flow's `resolve` gives for an id. It is asked again whenever such a request goes on: nothing of a
 * schedule is kept.
 */
export async function resolved(definition: Config, address: string): Promise<Entry> {
  const kind = definition.kind as string;
  const { resolve } = (definition.schedules ?? {}) as { resolve?: (id: string, ctx: unknown) => unknown };
  const [, id] = /^schedule:([\s\S]+)$/.exec(address) ?? [];
  if (id === undefined || !resolve) throw new Error(`Flow "${kind}" has no entry "${address}"`);
  // There are no stores of a host to look into.
  const nothing = { get: () => Promise.resolve(undefined) };
  const { defaultUserId = 'system' } = (definition.authentication ?? {}) as { defaultUserId?: string };
  const action = (await resolve(id, {
    flowKind: kind,
    gatewayPrincipal: { userId: defaultUserId },
    stores: { content: nothing, resourceState: nothing },
  })) as Config | null | undefined;
  if (!action) throw new Error(`Flow "${kind}": schedules.resolve knows no schedule "${id}"`);
  const entry: Entry = { type: 'schedule', name: id, action: actionOf(definition, action) as Config };
  const what = `Flow "${kind}": schedule "${id}"`;
  checkBlock(entry, what);
  if (entry.action.cron !== undefined) checkCron(entry.action.cron, what);
  checkScheduled(entry.action, what);
  return entry;
}

/** A schedule's own input, unless another is given. What a scheduler says of the tick is no input. */
async function scheduled(definition: Config, entry: Entry, given: Given, who: Fired): Promise<unknown> {
  const { cron, input } = entry.action;
  const tick = isOnly(given.input, ['nominalFireTime', 'idempotencyKey']) ? (given.input as Config) : undefined;
  if (given.input !== undefined && !tick) return given.input;
  if (typeof input !== 'function') return input;
  return (input as (ctx: unknown) => unknown)({
    scheduleId: entry.name,
    cron,
    nominalFireTime: tick?.nominalFireTime ?? new Date(given.now).toISOString(),
    principal: { userId: who.user, ...(who.project === undefined ? {} : { orgId: who.project }) },
    flowKind: definition.kind,
    origin: (definition.schedules as { static?: Config } | undefined)?.static?.[entry.name] ? 'static' : 'dynamic',
  });
}

/** The event of a webhook: what was given is its payload, or all of it. */
function delivered(name: string, given: unknown): object {
  const at = name.indexOf('/');
  const whole = isOnly(given, ['provider', 'eventType', 'payload', 'headers', 'rawBody', 'deliveryId'], 'payload')
    ? (given as Config)
    : { payload: given };
  const { payload } = whole;
  const body = typeof whole.rawBody === 'string' ? whole.rawBody : (JSON.stringify(payload) ?? '');
  return {
    provider: name.slice(0, at),
    eventType: name.slice(at + 1),
    payload,
    headers: new WebHeaders(whole.headers ?? {}),
    rawBody: new Encoder().encode(body),
    deliveryId: whole.deliveryId,
  };
}

/** The event of a bot, as it was given, with its kind. */
function said(kind: string, given: unknown): object {
  const fields = typeof given === 'object' && given !== null && !Array.isArray(given) ? given : { text: given };
  return { kind, isDM: kind === 'directMessage', ...fields };
}

function isOnly(value: unknown, keys: string[], needed?: string): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const own = Object.keys(value);
  return own.length > 0 && own.every((key) => keys.includes(key)) && (needed === undefined || own.includes(needed));
}
