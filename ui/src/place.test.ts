import { expect, test } from 'vitest';
import { ALL_RUNS, formatRoute, HOME, NOWHERE, parseRoute, placeOf, VIEW, type Route } from './place';

const request = (view: Partial<typeof VIEW> = {}, session: string | null = 's1'): Route => ({
  at: 'request',
  request: 'r1',
  session,
  ...VIEW,
  ...view,
});

test.each<[string, Route, string]>([
  ['home', HOME, '#'],
  ['flow', { at: 'flow', flow: 'chat' }, '#flow=chat'],
  ['run', { at: 'run', flow: 'chat', action: 'send it' }, '#flow=chat&action=send+it'],
  ['session', { at: 'session', session: 's1' }, '#session=s1'],
  ['a request', request(), '#session=s1&request=r1'],
  ['a request whose session is not known', request({}, null), '#request=r1'],
  ['an instant, a tab', request({ seq: 12, tab: 'items' }), '#session=s1&request=r1&seq=12&tab=items'],
  ['the base of a difference', request({ seq: 12, base: 3 }), '#session=s1&request=r1&seq=12&base=3'],
  ['a selection', request({ block: 'r1:root/a:1' }), '#session=s1&request=r1&block=r1%3Aroot%2Fa%3A1'],
  ['a range', request({ range: { from: 0, to: 1250.5 } }), '#session=s1&request=r1&range=0-1250.5'],
  ['a filter', request({ filter: 'dur>1s "a b"' }), '#session=s1&request=r1&filter=dur%3E1s+%22a+b%22'],
  ['an audience', request({ audience: 'trace' }), '#session=s1&request=r1&audience=trace'],
  ['compare', { at: 'compare', left: 'r1', right: 'r2' }, '#compare=r1&with=r2'],
  ['the verdicts on all flows', { at: 'verify', only: null }, '#verify='],
  ['the verdicts on one', { at: 'verify', only: 'chat bot' }, '#verify=chat+bot'],
  ['all runs', { at: 'runs', ...ALL_RUNS }, '#runs='],
  [
    'runs by a filter and in an order',
    { at: 'runs', runs: 'status:failed "a b"', sort: 'cost', descending: false },
    '#runs=status%3Afailed+%22a+b%22&sort=cost&ascending=1',
  ],
  ['the experiments', { at: 'experiments', experiment: null }, '#experiments='],
  ['one of them', { at: 'experiments', experiment: 'exp_1' }, '#experiments=exp_1'],
  ['a replay', { at: 'compare', left: 'r1', right: null }, '#compare=r1&replay=1'],
])('%s: formatting and parsing its address gives the same route', (_, route, address) => {
  expect(formatRoute(route)).toBe(address);
  expect(parseRoute(address)).toEqual(route);
});

test.each<[string, string, Route]>([
  ['nothing', '', HOME],
  ['nonsense', '#seq=-3&tab=nope&audience=%%%', HOME],
  ['an action without a flow', '#action=send', HOME],
  ['one half of a comparison', '#compare=r1', HOME],
  ['a tab without a request', '#session=s1&tab=items', { at: 'session', session: 's1' }],
  ['a request and a flow: the request wins', '#flow=chat&session=s1&request=r1', request()],
  ['invalid numbers', '#session=s1&request=r1&seq=1.5&base=x&tab=nope', request()],
  ['a range that ends before it begins', '#session=s1&request=r1&range=9-3', request()],
  ['a range without an end', '#session=s1&request=r1&range=9-', request()],
])('%s: the address is parsed as far as it is valid', (_, address, route) =>
  expect(parseRoute(address)).toEqual(route),
);

test('a place is empty except for the fields of its route', () => {
  expect(placeOf(HOME)).toEqual(NOWHERE);
  expect(placeOf({ at: 'run', flow: 'chat', action: 'send' })).toEqual({ ...NOWHERE, flow: 'chat', action: 'send' });
  expect(placeOf({ at: 'compare', left: 'r1', right: 'r2' })).toEqual(NOWHERE);
  expect(placeOf(request({ seq: 4 }))).toEqual({ ...NOWHERE, session: 's1', request: 'r1', seq: 4 });
});
