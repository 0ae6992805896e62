// A collection whose instances an app keeps itself: each is read when it is asked for, and kept nowhere.
//
// Must not: write anything. A block reads an instance once; another block reads it anew.

import { FlowError } from '../base/errors';
import { native } from '../base/host';
import { parse, type AnySchema } from '../base/schema';
import type { Config } from '../define/blocks';
import { fillFields, fillTemplate, type TextSource } from '../define/resource-texts';
import { requestSignal } from '../globals/web';
import { keyMismatch } from '../library/collection-keys';

interface About {
  flow: string;
  session: string;
  user: string;
  project?: string;
}

interface Hit {
  key: string;
  state: unknown;
}

interface Page {
  hits?: Hit[];
  nextCursor?: string;
}

/** Says it in the log of the block. */
const say = (text: string): void =>
  (globalThis as unknown as { console: { warn(text: string): void } }).console.warn(text);

type Hook<T> = (asked: object) => T | Promise<T>;

/** Whose the instances are, as the request says it. */
function trusted(token: number, scope: string): object {
  const { flow, session, user, project } = JSON.parse(native.sync('info', token, '') as string) as About;
  const ids: Record<string, string | undefined> = { session, user, project };
  return {
    scope: scope === 'project' ? 'org' : scope,
    scopeId: ids[scope],
    userId: user,
    orgId: project,
    flowKind: flow,
    signal: requestSignal,
  };
}

export function externalHandle(
  token: number,
  { scope, path: pattern }: { scope: string; path: string },
  { config, text }: { config: Config; text: TextSource },
): object {
  const { stateSchema, metadata } = config;
  const label = `collection "${scope}/${pattern}"`;
  const ctx = () => trusted(token, scope);
  const pathOf = (key: string) => pattern.replace(/\*+$/, key);
  const uriOf = (key: string) => `${scope}/${pathOf(key)}`;
  const instance = (key: string, state: object): object => ({
    key,
    path: pathOf(key),
    scope,
    uri: uriOf(key),
    config,
    metadata,
    state: Object.freeze({ ...state }),
    readContentRaw: async () => text.content ?? text.template ?? null,
    readContent: async () => {
      if (text.isLiquid) return fillTemplate(text.content ?? '', state, text.fragments);
      return text.template === undefined ? (text.content ?? null) : fillFields(text.template, state);
    },
  });
  /** What an app gave, or what is wrong with it. */
  const checked = (key: string, given: unknown): { state: object } | { wrong: string } => {
    const answer = stateSchema === undefined ? { ok: true, data: given } : parse(stateSchema as AnySchema, given);
    if (answer.ok && typeof answer.data === 'object' && answer.data !== null) return { state: answer.data };
    const issue = 'issues' in answer ? answer.issues?.[0] : undefined;
    const what = issue ? `${issue.path === '' ? '' : ` at "${issue.path}"`}: ${issue.message}` : ': it is no object';
    return { wrong: `Invalid state for resource "${uriOf(key)}"${what}` };
  };
  const seen = new Map<string, Promise<object | undefined>>();
  const read = async (key: string): Promise<object | undefined> => {
    const given = await (config.read as Hook<unknown>)({ key, ctx: ctx() });
    if (given === null || given === undefined) return undefined;
    const found = checked(key, given);
    if ('wrong' in found) throw new FlowError(found.wrong, { code: 'resource_invalid' });
    return instance(key, found.state);
  };
  const getOptional = (key: unknown): Promise<object | undefined> => {
    if (typeof key !== 'string' || key === '') {
      return Promise.reject(new TypeError(`${label}: a key is a text that is not empty`));
    }
    const wrong = keyMismatch(pattern, key);
    if (wrong !== undefined) return Promise.reject(new TypeError(`${label}: ${wrong}`));
    const known = seen.get(key) ?? read(key);
    seen.set(key, known);
    return known;
  };
  return {
    pattern,
    scope,
    config,
    metadata,
    getOptional,
    get: async (key: unknown) => {
      const found = await getOptional(key);
      if (found) return found;
      throw new FlowError(`Resource "${uriOf(String(key))}" does not exist`, { code: 'resource_not_found' });
    },
    list: async (asked: unknown = {}) => {
      const query = typeof asked === 'string' ? { search: asked } : asked;
      const { hits = [], nextCursor } = (await (config.search as Hook<Page>)({ query, ctx: ctx() })) ?? {};
      const items = hits.flatMap(({ key, state }) => {
        const found = checked(key, state);
        if ('state' in found) return [instance(key, found.state)];
        say(found.wrong);
        return [];
      });
      return nextCursor === undefined ? { items } : { items, nextCursor };
    },
  };
}
