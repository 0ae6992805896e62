// What the window asks the host about one session: its turns, its forks, and what people add to it.
import type { Conversation, ConversationQuery, ForkRow, TagEdits, Tags } from './bindings';

export interface ConversationHost {
  /** A page of turns; the newest ones without an offset. */
  conversation(session: string, query: ConversationQuery): Promise<Conversation>;
  /** Where in a session a request is, counted from 0. */
  turnOf(session: string, requestId: string): Promise<number>;
  /** What a session is a fork of, and all forks of that: parents before their forks. */
  forkTree(session: string): Promise<ForkRow[]>;
  sessionTags(session: string): Promise<Tags>;
  tagSession(session: string, edits: TagEdits): Promise<Tags>;
}
