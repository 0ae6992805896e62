// What a session is about.
import type { ListedSession } from '../host/host';

/** In one line: its title, or what was asked last. */
export const about = (session: ListedSession): string => session.title || session.words || session.id;
