// What a session is about.
import type { ListedSession } from '../host/host';

/** An id that the program made up says nothing to a person. */
const MADE_UP = /^(ephemeral|fork|req)_/;

/** In one line: its title, or what was asked last; empty if there is neither. */
export const about = ({ title, words, id }: ListedSession): string => title || words || (MADE_UP.test(id) ? '' : id);
