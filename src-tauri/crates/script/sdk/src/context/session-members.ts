// What only `ctx.session` has beside its state: items, journal, metadata.

import { checkEntry, checkJournalQuery, checkMetadata } from './ctx-arguments';
import { native } from '../base/host';
import { tell } from '../define/known-keys';
import { ITEM_QUERY, warnOfOthers } from '../define/nested-keys';
import { toJson } from '../base/values';

type Json = Record<string, unknown>;

export function sessionMembers(token: number, info: () => { session: string; user: string; project?: string }): object {
  const items = (view: string, query: unknown, method = view) => {
    warnOfOthers(query, ITEM_QUERY, `ctx.session.items.${method}`, 'field of a query', tell);
    return JSON.parse(native.sync('items', token, JSON.stringify([view, query ?? {}])) ?? '[]') as unknown[];
  };
  // A plain list: authors read it without `await`, and awaiting it works too.
  const history = (query?: unknown) => items('history', query);
  const members = {
    get identity() {
      const { session, user, project } = info();
      return { type: 'session', id: session, userId: user, projectId: project, orgId: project };
    },
    items: {
      all: (query?: unknown) => items('all', query),
      client: (query?: unknown) => items('client', query),
      history,
      llm: history,
      selectForContext: (query?: unknown) => items('all', query, 'selectForContext'),
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
  // Whoever lists the members does not ask for it.
  return Object.defineProperty(members, 'link', { get: linkOf, enumerable: false });
}

function linkOf(): undefined {
  tell('ctx.session.link: sessions have no links here; a dispatcher gives what it wants to say as payload');
}
