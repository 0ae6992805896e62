// The host's functions for one session: its turns, its forks, and its annotations.
import type { Conversation, ConversationQuery, ForkRow, TagEdits, Tags } from './bindings';

export interface ConversationHost {
  /** A page of turns; the newest ones without an offset. */
  conversation(session: string, query: ConversationQuery): Promise<Conversation>;
  /** The position of a request in its session, counted from 0. */
  turnOf(session: string, requestId: string): Promise<number>;
  /** All sessions of the fork tree that a session belongs to, parents before their forks. */
  forkTree(session: string): Promise<ForkRow[]>;
  sessionTags(session: string): Promise<Tags>;
  tagSession(session: string, edits: TagEdits): Promise<Tags>;
}
