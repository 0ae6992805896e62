// Where the window is: one value, and its text in the address. Back, forward and copied links all work on it.
// It names things and holds none; an unknown or damaged address is simply an emptier route.

export type Tab = 'timeline' | 'items' | 'state' | 'events' | 'journal' | 'checkpoints' | 'agent' | 'calls';
/** `messages` are all items as well, with what is no message and no call folded into lines. */
export type Audience = 'messages' | 'all' | 'client' | 'history' | 'trace';

/** How the open request is looked at. */
export type View = {
  /** The event whose instant is shown; null follows the newest. */
  seq: number | null;
  /** The event that differences are measured from; null stands for the step before. */
  base: number | null;
  /** The selected block's instance; null stands for the request's root block. */
  block: string | null;
  tab: Tab;
  audience: Audience;
  /** The part of the time axis that is shown, in milliseconds from the start of the request; null shows all of it. */
  range: { from: number; to: number } | null;
  /** Which rows are shown, in the language of the filter box. */
  filter: string;
  /** The only part that the window shows: the inspector; null shows all of it. */
  pane: 'inspector' | null;
};

/** Which runs are listed, and by what they are ordered; the word of the order is the host's. */
export type RunsPlace = { runs: string; sort: string; descending: boolean };
/** The newest first. */
export const ALL_RUNS: RunsPlace = { runs: '', sort: 'started', descending: true };

export type Route =
  | { at: 'home' }
  | { at: 'flow'; flow: string }
  /** What waits for a person. */
  | { at: 'waiting' }
  /** What recorded runs do with the current code: of one flow, or of all. */
  | { at: 'verify'; only: string | null }
  /** The requests of all sessions that fit a filter, and their order. */
  | ({ at: 'runs' } & RunsPlace)
  /** A session whole, as an audience sees it; from a request on, or its newest ones. */
  | { at: 'conversation'; session: string; audience: Audience; from: string | null }
  /** What can be set, and the part of it that is shown. */
  | { at: 'settings'; section: string | null }
  /** The experiments, and the one that is looked at. */
  | { at: 'experiments'; experiment: string | null }
  | { at: 'run'; flow: string; action: string }
  /** A session without a request; one that has any is left for its newest one. */
  | { at: 'session'; session: string }
  /** The session is found by the request where it is not named. */
  | ({ at: 'request'; request: string; session: string | null } & View)
  /** Two requests; or one and what the code of today does with it, where there is no second. */
  | { at: 'compare'; left: string; right: string | null };

export const VIEW: View = {
  seq: null,
  base: null,
  block: null,
  tab: 'timeline',
  audience: 'messages',
  range: null,
  filter: '',
  pane: null,
};
export const HOME: Route = { at: 'home' };

export const TABS: readonly Tab[] = [
  'timeline',
  'items',
  'state',
  'events',
  'journal',
  'checkpoints',
  'agent',
  'calls',
];
export const AUDIENCES: readonly Audience[] = ['messages', 'all', 'client', 'history', 'trace'];

/** A route as what each part of the window asks of it, whatever the route is: nothing where it does not say. */
export type Place = View & {
  flow: string | null;
  action: string | null;
  session: string | null;
  request: string | null;
};

export const NOWHERE: Place = { ...VIEW, flow: null, action: null, session: null, request: null };

export function placeOf(route: Route): Place {
  // The word for the kind of route is no part of a place.
  const { at: _, ...named } = route;
  if (route.at === 'conversation') return { ...NOWHERE, session: route.session };
  const isElsewhere = ['compare', 'verify', 'experiments', 'runs', 'settings'].includes(route.at);
  return { ...NOWHERE, ...(isElsewhere ? {} : named) };
}

export function parseRoute(hash: string): Route {
  const found = new URLSearchParams(hash.replace(/^#\/?/, ''));
  const text = (name: string) => found.get(name) || null;
  const event = (name: string) => {
    const seq = Number(found.get(name));
    return Number.isSafeInteger(seq) && seq > 0 ? seq : null;
  };
  if (found.has('waiting')) return { at: 'waiting' };
  if (found.has('settings')) return { at: 'settings', section: text('settings') };
  if (found.has('verify')) return { at: 'verify', only: text('verify') };
  if (found.has('runs')) {
    const sort = text('sort') ?? ALL_RUNS.sort;
    return { at: 'runs', runs: text('runs') ?? '', sort, descending: !found.has('ascending') };
  }
  if (found.has('experiments')) return { at: 'experiments', experiment: text('experiments') };
  const [left, right] = [text('compare'), text('with')];
  if (left && (right || found.has('replay'))) return { at: 'compare', left, right };
  const [flow, action, session, request] = [text('flow'), text('action'), text('session'), text('request')];
  if (request)
    return {
      at: 'request',
      request,
      session,
      seq: event('seq'),
      base: event('base'),
      block: text('block'),
      tab: TABS.find((tab) => tab === found.get('tab')) ?? VIEW.tab,
      audience: AUDIENCES.find((one) => one === found.get('audience')) ?? VIEW.audience,
      range: parseRange(text('range')),
      filter: text('filter') ?? '',
      pane: found.get('pane') === 'inspector' ? 'inspector' : null,
    };
  if (session && found.has('conversation')) {
    const audience = AUDIENCES.find((one) => one === found.get('audience')) ?? VIEW.audience;
    return { at: 'conversation', session, audience, from: text('conversation') };
  }
  if (session) return { at: 'session', session };
  if (flow && action) return { at: 'run', flow, action };
  return flow ? { at: 'flow', flow } : HOME;
}

function parseRange(text: string | null): View['range'] {
  const [, from, to] = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text ?? '') ?? [];
  const range = { from: Number(from), to: Number(to) };
  return Number.isFinite(range.to) && range.from < range.to ? range : null;
}

/** Only what differs from the usual is written, so that an address stays short enough to read. */
export function formatRoute(route: Route): string {
  const text = new URLSearchParams();
  if (route.at === 'waiting') text.set('waiting', '');
  else if (route.at === 'settings') text.set('settings', route.section ?? '');
  else if (route.at === 'verify') text.set('verify', route.only ?? '');
  else if (route.at === 'conversation') {
    text.set('session', route.session);
    text.set('conversation', route.from ?? '');
    if (route.audience !== VIEW.audience) text.set('audience', route.audience);
  } else if (route.at === 'experiments') text.set('experiments', route.experiment ?? '');
  else if (route.at === 'runs') {
    text.set('runs', route.runs);
    if (route.sort !== ALL_RUNS.sort) text.set('sort', route.sort);
    if (!route.descending) text.set('ascending', '1');
  } else if (route.at === 'compare') {
    text.set('compare', route.left);
    if (route.right === null) text.set('replay', '1');
    else text.set('with', route.right);
  } else {
    const place = placeOf(route);
    for (const key of [
      'flow',
      'action',
      'session',
      'request',
      'seq',
      'base',
      'block',
      'tab',
      'audience',
      'pane',
    ] as const) {
      const value = place[key];
      if (value !== null && value !== NOWHERE[key]) text.set(key, String(value));
    }
    if (place.range) text.set('range', `${place.range.from}-${place.range.to}`);
    if (place.filter) text.set('filter', place.filter);
  }
  return `#${text}`;
}
