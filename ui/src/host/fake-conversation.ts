// Sessions of the recorded host as conversations: what was recorded of their requests, and tags that are kept in memory.
import type { ConversationHost } from './conversation';
import type { AudienceCounts, Conversation, ForkRow, ListedSession, RunRow, TagEdits, Tags, Turn } from './host';
import type { Recording } from './recording';

const VIEWS = ['all', 'client', 'history', 'trace'] as const;

export class FakeConversation implements ConversationHost {
  readonly #tags = new Map<string, Tags>();

  constructor(
    readonly recordings: () => Iterable<Recording>,
    readonly runs: () => Promise<RunRow[]>,
    readonly session: (id: string) => ListedSession,
  ) {}

  #of(session: string): Recording[] {
    return [...this.recordings()].filter((one) => one.row.sessionId === session);
  }

  async conversation(session: string, query: Parameters<ConversationHost['conversation']>[1]): Promise<Conversation> {
    const all = this.#of(session);
    const offset = query.offset ?? Math.max(0, all.length - query.limit);
    const runs = new Map((await this.runs()).map((run) => [run.id, run]));
    const turns = all.slice(offset, offset + query.limit).map((one): Turn => {
      const counts = Object.fromEntries(VIEWS.map((view) => [view, one.itemsOf(view).length]));
      const items = one.itemsOf(query.audience).map((item) => ({ item, isTail: false, isCut: false }));
      return {
        run: runs.get(one.row.id) as RunRow,
        counts: counts as AudienceCounts,
        isForgotten: false,
        items: structuredClone(items),
        leftOut: 0,
        leftOutAt: 0,
      };
    });
    const tags = await this.sessionTags(session);
    const row = this.session(session);
    return { session: { ...row, title: tags.title ?? row.title }, tags, total: all.length, offset, turns };
  }
  async turnOf(session: string, requestId: string) {
    return this.#of(session).findIndex((one) => one.row.id === requestId);
  }
  async forkTree(session: string): Promise<ForkRow[]> {
    return [this.session(session)];
  }
  async sessionTags(session: string): Promise<Tags> {
    return this.#tags.get(session) ?? { sessionId: session, tags: [] };
  }
  async tagSession(session: string, { add = [], remove = [], note, title }: TagEdits): Promise<Tags> {
    const before = await this.sessionTags(session);
    const tags = [...new Set([...before.tags, ...add])].filter((tag) => !remove.includes(tag)).sort();
    const now = {
      ...before,
      tags,
      note: (note ?? before.note) || null,
      title: (title ?? before.title) || null,
    };
    this.#tags.set(session, now);
    return now;
  }
}
