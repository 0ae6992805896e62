// Where the window is: one value, and its text in the address. Back, forward and copied links all work on it.
// It names things and holds none; an unknown or damaged address is simply an emptier place.

export type Tab = 'timeline' | 'items' | 'events' | 'agent' | 'calls';
export type Audience = 'all' | 'client' | 'history' | 'trace';

export type Place = {
  flow: string | null;
  action: string | null;
  session: string | null;
  request: string | null;
  /** The event whose instant is shown; null follows the newest. */
  seq: number | null;
  /** The selected block's instance; null stands for the request's root block. */
  block: string | null;
  tab: Tab;
  audience: Audience;
};

export const NOWHERE: Place = {
  flow: null,
  action: null,
  session: null,
  request: null,
  seq: null,
  block: null,
  tab: 'timeline',
  audience: 'all',
};

export const TABS: readonly Tab[] = ['timeline', 'items', 'events', 'agent', 'calls'];
export const AUDIENCES: readonly Audience[] = ['all', 'client', 'history', 'trace'];

export function parsePlace(hash: string): Place {
  const found = new URLSearchParams(hash.replace(/^#\/?/, ''));
  const text = (name: string) => found.get(name) || null;
  const seq = Number(found.get('seq'));
  return {
    flow: text('flow'),
    action: text('action'),
    session: text('session'),
    request: text('request'),
    seq: Number.isSafeInteger(seq) && seq > 0 ? seq : null,
    block: text('block'),
    tab: TABS.find((tab) => tab === found.get('tab')) ?? NOWHERE.tab,
    audience: AUDIENCES.find((one) => one === found.get('audience')) ?? NOWHERE.audience,
  };
}

/** Only what differs from nowhere is written, so that a link stays short enough to read. */
export function formatPlace(place: Place): string {
  const text = new URLSearchParams();
  for (const key of Object.keys(NOWHERE) as (keyof Place)[]) {
    const value = place[key];
    if (value !== null && value !== NOWHERE[key]) text.set(key, String(value));
  }
  return `#${text}`;
}
